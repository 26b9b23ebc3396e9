// One stream as a part of the picture.
#pragma once

#include <cstdint>
#include <optional>

#include "frame/frame_layout.hpp"
#include "gl/frame_texture.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/statistics.hpp"
#include "viewer/tear_check.hpp"

namespace framewire {

/// Holds the newest frame's texture, and the frame itself until the GPU has finished reading it: only then does its
/// credit go back. Checks each frame that it gives back. The thread that draws.
class Layer {
 public:
  /// `statistics` outlives the layer. Throws Error when the driver cannot do it.
  Layer(bool verifies, Statistics& statistics);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  enum class Upload {
    done,
    not_a_picture,  // or larger than the GPU's textures
    gpu_hangs,      // it has not let go of the frame before
    gpu_is_lost,    // it never will: the OpenGL context is lost
  };
  /// Makes `frame` the layer's picture. Any other result than `done` gives the frame back and leaves the picture as it
  /// was.
  Upload upload(ReceivedFrame frame, ChromaLocation chroma_location = ChromaLocation::unspecified) noexcept;

  /// Gives the credit back if the GPU is done. Returns whether nothing is held any more.
  bool release_finished() noexcept;

  /// Checks a frame that was never uploaded, and gives it back.
  void discard(ReceivedFrame frame) noexcept;

  /// A session or an epoch is over: lets go of the memory that its frames stood in.
  void forget_memory() noexcept;

  /// The picture as large as it fits on a surface of this size; nothing before the first frame.
  void draw(Size surface, Rational sample_aspect) const noexcept;

  /// Draws small frames of the usual formats, larger and smaller than `surface`, so that the driver has its shaders
  /// ready when the first real one comes. What is bound shows rubbish afterwards. Does nothing once there is a picture.
  void warm_up(Size surface) noexcept;

  /// Sets up what frames of this format need, with a black one of it that is never shown: textures, shaders, memory.
  /// What is bound shows rubbish afterwards. Does nothing once there is a picture. Throws Error (no memory).
  void prepare(const StreamFormat& format, Size surface);

  [[nodiscard]] bool has_picture() const noexcept { return has_picture_; }
  [[nodiscard]] UploadMethod method() const noexcept { return texture_.method(); }

 private:
  void release() noexcept;

  Statistics& statistics_;
  FrameTexture texture_;
  TearCheck check_;
  bool has_picture_ = false;
  std::optional<ReceivedFrame> held_;
};

}  // namespace framewire
