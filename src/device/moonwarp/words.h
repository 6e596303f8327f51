/* Type traits for templates of memory operations: the words that a type's values consist of, and the type itself. */
#ifndef MOONWARP_WORDS_H
#define MOONWARP_WORDS_H

/* The largest word that a value of the type consists of; loads and stores with cache hints access such words. */
template <size_t Size, size_t Align> struct __mw_word {
  typedef typename __mw_word<Size, Align / 2>::type type;
};
template <size_t Size> struct __mw_word<Size, 1> {
  typedef unsigned char type;
};
template <size_t Size> struct __mw_word<Size, 2> {
  typedef unsigned short type;
};
template <size_t Size> struct __mw_word<Size, 4> {
  typedef unsigned int type;
};
template <size_t Size> struct __mw_word<Size, 8> {
  typedef unsigned long long type;
};
template <class T> using __mw_word_of = typename __mw_word<sizeof(T), alignof(T)>::type;

/* A type that does not take part in template argument deduction: arguments are converted to it. */
template <class T> struct __mw_identity {
  typedef T type;
};
template <class T> using __mw_same = typename __mw_identity<T>::type;

#endif
