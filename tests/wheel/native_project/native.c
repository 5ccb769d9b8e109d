/* A C program that uses the library of an installed wheel. */

#include <kvswap.h>
#include <stdio.h>

int main(void) {
  printf("header %d.%d.%d, library %s\n", KVSWAP_VERSION_MAJOR,
         KVSWAP_VERSION_MINOR, KVSWAP_VERSION_PATCH, kvswap_version_string());

  char source[16] = "blocks";
  char destination[16] = "";
  const void* src_ptrs[] = {source};
  void* dst_ptrs[] = {destination};
  const size_t sizes[] = {sizeof(source)};
  kvswap_result result = KVSWAP_RESULT_INIT;
  int status =
      kvswap_swap_blocks_batch(src_ptrs, dst_ptrs, sizes, 1,
                               /*stream=*/NULL, /*options=*/NULL, &result);
  printf("%s: %s\n", status == KVSWAP_ERROR_NO_DRIVER ? "no driver" : "status",
         kvswap_status_name(status));
  return 0;
}
