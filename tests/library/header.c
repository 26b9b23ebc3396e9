/* The public header as a C program sees it. */
#include "framewire/framewire.h"

fw_result header_as_c(void);

fw_result header_as_c(void) {
  fw_format format;
  return fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 16, 16);
}
