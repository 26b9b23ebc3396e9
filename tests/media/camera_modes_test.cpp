#include "media/camera_modes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace framewire::libav {
namespace {

std::string chosen(const std::vector<CameraMode>& modes, double frames_per_s = 0) {
  const CameraMode* mode = choose_camera_mode(modes, frames_per_s);
  return mode == nullptr
             ? "none"
             : mode->format + " " + std::to_string(mode->size.width) + "x" + std::to_string(mode->size.height) + " " +
                   std::to_string(std::lround(mode->frames_per_s));
}

/// The modes of a common USB camera: large frames have high rates only in compressed formats.
const std::vector<CameraMode> usb_camera = {{"yuyv422", false, {640, 480}, 30},  {"yuyv422", false, {1920, 1080}, 5},
                                            {"yuyv422", false, {3840, 2160}, 1}, {"mjpeg", true, {640, 480}, 30},
                                            {"mjpeg", true, {1280, 720}, 60},    {"mjpeg", true, {1920, 1080}, 30},
                                            {"mjpeg", true, {3840, 2160}, 29.97}};

TEST(CameraModes, TheLargestThatIsAFilm) {
  EXPECT_EQ(chosen(usb_camera), "mjpeg 3840x2160 30");
}

TEST(CameraModes, ARateThatWasAskedForComesFirst) {
  EXPECT_EQ(chosen(usb_camera, 30), "mjpeg 3840x2160 30");
  EXPECT_EQ(chosen(usb_camera, 60), "mjpeg 1280x720 60");
  EXPECT_EQ(chosen(usb_camera, 5), "mjpeg 3840x2160 30");
  EXPECT_EQ(chosen(usb_camera, 120), "mjpeg 1280x720 60");
}

TEST(CameraModes, OfEqualOnesTheUncompressed) {
  EXPECT_EQ(chosen({{"mjpeg", true, {1920, 1080}, 60}, {"nv12", false, {1920, 1080}, 60}}), "nv12 1920x1080 60");
  EXPECT_EQ(chosen({{"mjpeg", true, {1920, 1080}, 60}, {"nv12", false, {1920, 1080}, 30}}), "mjpeg 1920x1080 60");
  EXPECT_EQ(chosen({{"mjpeg", true, {1920, 1080}, 240}, {"nv12", false, {1920, 1080}, 60}}), "nv12 1920x1080 60");
}

TEST(CameraModes, SlowCamerasGiveTheirQuickest) {
  EXPECT_EQ(chosen({{"gray", false, {4096, 3072}, 3}, {"gray", false, {2048, 1536}, 12}}), "gray 2048x1536 12");
}

TEST(CameraModes, WhatSaysNoRateIsTakenForQuick) {
  EXPECT_EQ(chosen({{"nv12", false, {1280, 720}, 0}, {"nv12", false, {640, 480}, 30}}), "nv12 1280x720 0");
}

TEST(CameraModes, WhatIsNoCameraHasNone) {
  EXPECT_EQ(chosen({}), "none");
  EXPECT_TRUE(camera_modes("/dev/null").empty());
  EXPECT_TRUE(camera_modes("/no/such/device").empty());
}

}  // namespace
}  // namespace framewire::libav
