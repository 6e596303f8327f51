kernel void search(int n, global const uchar *text, int length, global const uchar *word, global uint *found) {
  int i = get_global_id(0);
  if (i > n - length) return;
  int same = 0;
  while (same < length && text[i + same] == word[same]) same++;
  if (same < length) return;
  atomic_inc(&found[0]);
  atomic_add(&found[1], (uint)i);
}
