// Reads a named pipe for libav so that waiting can be interrupted. Internal to media/.
#pragma once

#include <memory>
#include <string>

#include "base/file_descriptor.hpp"
#include "media/libav.hpp"

namespace framewire::libav {

class Interrupt;

/// Opening a pipe without a writer blocks, and so does reading one whose writer pauses. libav's file protocol blocks in
/// both cases until a signal arrives. This class polls `interrupt` instead. It outlives the format context that has
/// context() as its `pb`; that context does not free it (AVFMT_FLAG_CUSTOM_IO).
class FifoInput {
 public:
  /// Throws Error: it cannot be opened.
  FifoInput(const std::string& path, const Interrupt& interrupt);
  ~FifoInput();
  FifoInput(const FifoInput&) = delete;
  FifoInput& operator=(const FifoInput&) = delete;

  [[nodiscard]] AVIOContext* context() const noexcept { return context_; }

 private:
  static int read(void* self, std::uint8_t* buffer, int size) noexcept;

  FileDescriptor fd_;
  const Interrupt* interrupt_;
  AVIOContext* context_;
};

}  // namespace framewire::libav
