/* assert for device code: a failure ends the launch with a message that has the expression, its source position, the
 * block and the thread. As in C, each inclusion of this file redefines assert according to NDEBUG. */
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#elif defined __MW_NVPTX__ || defined __MW_NVRTC__
#define assert(condition)                                                                                              \
  ((condition) ? (void)0 : __mw_fail_assertion(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#else
extern "C" __attribute__((host, device, noreturn)) void __assertfail(const char *message, const char *file,
                                                                     unsigned int line, const char *function,
                                                                     __SIZE_TYPE__ character_size);
#define assert(condition) ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#endif
