/* That spdld.h is C99, and that a C program links with the library alone. */
#include <spdld.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  spdld_attach_options options;
  spdld_loader* loader = NULL;
  spdld_batch* batch = NULL;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.socket = "/nowhere/spdld.sock";
  options.pipeline = "p";
  options.world_size = 1;
  options.group = "g";
  if (spdld_attach(&options, &loader) != SPDLD_NO_DAEMON || loader != NULL) return 1;
  if (strstr(spdld_last_error(), "/nowhere/spdld.sock") == NULL) return 2;
  if (spdld_next(NULL, 0, &batch) != SPDLD_INVALID || batch != NULL) return 3;
  spdld_detach(NULL);
  spdld_batch_retain(NULL);
  spdld_batch_release(NULL);
  printf("libspdld %s: %s\n", spdld_version(), spdld_result_name(SPDLD_OK));
  return strcmp(spdld_result_name(SPDLD_NO_DAEMON), "SPDLD_NO_DAEMON") == 0 ? 0 : 4;
}
