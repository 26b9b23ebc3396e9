#include "media/camera_modes.hpp"

#include <fcntl.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <tuple>

#include "base/file_descriptor.hpp"

namespace framewire::libav {

namespace {

constexpr double film_frames_per_s = 24;
constexpr double max_useful_frames_per_s = 60;
constexpr std::uint32_t max_entries = 256;  // limit for each list that a driver returns

struct KnownFormat {
  std::uint32_t number;
  const char* name;  // libav's name, for v4l2's option `input_format`
  bool is_compressed;
};
constexpr std::array known_formats = {
    KnownFormat{V4L2_PIX_FMT_YUYV, "yuyv422", false},    KnownFormat{V4L2_PIX_FMT_UYVY, "uyvy422", false},
    KnownFormat{V4L2_PIX_FMT_NV12, "nv12", false},       KnownFormat{V4L2_PIX_FMT_YUV420, "yuv420p", false},
    KnownFormat{V4L2_PIX_FMT_YUV422P, "yuv422p", false}, KnownFormat{V4L2_PIX_FMT_RGB24, "rgb24", false},
    KnownFormat{V4L2_PIX_FMT_BGR24, "bgr24", false},     KnownFormat{V4L2_PIX_FMT_GREY, "gray", false},
    KnownFormat{V4L2_PIX_FMT_MJPEG, "mjpeg", true},      KnownFormat{V4L2_PIX_FMT_JPEG, "mjpeg", true},
    KnownFormat{V4L2_PIX_FMT_H264, "h264", true},
};

bool ask(int fd, unsigned long request, void* answer) noexcept {
  int result = 0;
  do {
    result = ::ioctl(fd, request, answer);
  } while (result < 0 && errno == EINTR);
  return result == 0;
}

double max_frames_per_s(int fd, std::uint32_t format, Size size) noexcept {
  double most = 0;
  for (std::uint32_t i = 0; i < max_entries; ++i) {
    v4l2_frmivalenum entry{};
    entry.index = i;
    entry.pixel_format = format;
    entry.width = size.width;
    entry.height = size.height;
    if (!ask(fd, VIDIOC_ENUM_FRAMEINTERVALS, &entry)) {
      break;
    }
    const v4l2_fract interval = entry.type == V4L2_FRMIVAL_TYPE_DISCRETE ? entry.discrete : entry.stepwise.min;
    if (interval.numerator != 0) {
      most = std::max(most, static_cast<double>(interval.denominator) / interval.numerator);
    }
    if (entry.type != V4L2_FRMIVAL_TYPE_DISCRETE) {
      break;
    }
  }
  return most;
}

void add_sizes(int fd, const KnownFormat& format, std::vector<CameraMode>& modes) {
  for (std::uint32_t i = 0; i < max_entries; ++i) {
    v4l2_frmsizeenum entry{};
    entry.index = i;
    entry.pixel_format = format.number;
    if (!ask(fd, VIDIOC_ENUM_FRAMESIZES, &entry)) {
      return;
    }
    const bool is_discrete = entry.type == V4L2_FRMSIZE_TYPE_DISCRETE;
    const Size size = is_discrete ? Size{entry.discrete.width, entry.discrete.height}
                                  : Size{entry.stepwise.max_width, entry.stepwise.max_height};
    if (size.width != 0 && size.height != 0) {
      modes.push_back({format.name, format.is_compressed, size, max_frames_per_s(fd, format.number, size)});
    }
    if (!is_discrete) {
      return;
    }
  }
}

}  // namespace

const CameraMode* choose_camera_mode(std::span<const CameraMode> modes, double frames_per_s) noexcept {
  const double enough = (frames_per_s > 0 ? frames_per_s : film_frames_per_s) - 0.1;  // accepts 23.976 and 29.97
  const auto worth = [&](const CameraMode& mode) {
    const bool is_quick = mode.frames_per_s == 0 || mode.frames_per_s >= enough;
    const double rate = std::min(mode.frames_per_s, max_useful_frames_per_s);
    const double pixels = static_cast<double>(mode.size.width) * mode.size.height;
    return std::tuple(is_quick, is_quick ? pixels : rate, is_quick ? rate : pixels, !mode.is_compressed);
  };
  const auto best = std::ranges::max_element(modes, {}, worth);
  return best != modes.end() ? &*best : nullptr;
}

std::vector<CameraMode> camera_modes(const std::string& device) {
  std::vector<CameraMode> modes;
  const FileDescriptor fd(::open(device.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  for (std::uint32_t i = 0; fd.valid() && i < max_entries; ++i) {
    v4l2_fmtdesc entry{};
    entry.index = i;
    entry.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (!ask(fd.get(), VIDIOC_ENUM_FMT, &entry)) {
      break;
    }
    const auto* known = std::ranges::find(known_formats, entry.pixelformat, &KnownFormat::number);
    if (known != known_formats.end()) {
      add_sizes(fd.get(), *known, modes);
    }
  }
  return modes;
}

}  // namespace framewire::libav
