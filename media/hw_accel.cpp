#include "media/hw_accel.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

std::string_view name(HwAccelKind kind) noexcept {
  switch (kind) {
    case HwAccelKind::automatic:
      return "auto";
    case HwAccelKind::cuda:
      return "cuda";
    case HwAccelKind::vaapi:
      return "vaapi";
    case HwAccelKind::none:
      break;
  }
  return "none";
}

std::string_view advice(HwAccelKind kind) noexcept {
  return kind == HwAccelKind::automatic ? "" : "; --hwaccel auto would take the processor then";
}

HwAccel parse_hw_accel(const std::string& text) {
  for (const HwAccelKind kind : {HwAccelKind::none, HwAccelKind::automatic, HwAccelKind::cuda, HwAccelKind::vaapi}) {
    if (text == name(kind)) {
      return {.kind = kind};
    }
    const std::string prefix = std::string(name(kind)) + ":";
    const bool takes_device = kind == HwAccelKind::cuda || kind == HwAccelKind::vaapi;
    if (takes_device && text.starts_with(prefix) && text.size() > prefix.size()) {
      return {.kind = kind, .device = text.substr(prefix.size())};
    }
  }
  throw Error::usage("--hwaccel is " + quote(text) +
                     "; it takes none, auto, cuda, cuda:GPU, vaapi or vaapi:DEVICE, as in vaapi:/dev/dri/renderD128");
}

}  // namespace framewire
