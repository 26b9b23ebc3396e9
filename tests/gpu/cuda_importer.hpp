// A second process that maps this one's CUDA memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

/// What the second process is to do with memory whose descriptor it gets.
enum class ImporterTask : int {
  compare_read_only,   // map it for reading only, and compare it with test_words()
  compare_and_change,  // map it for writing, too: compare it, and write its first word once more
  write_read_only,     // map it for reading only, and write nevertheless
};

/// The second process. CUDA does not survive a fork, so that it must be made before this process uses CUDA.
class CudaImporter {
 public:
  /// Throws Error.
  CudaImporter();
  CudaImporter(const CudaImporter&) = delete;
  CudaImporter& operator=(const CudaImporter&) = delete;
  CudaImporter(CudaImporter&&) = delete;
  CudaImporter& operator=(CudaImporter&&) = delete;
  /// Ends the process.
  ~CudaImporter();

  /// What it saw, in words. Throws Error if that was a fault, or if no answer comes within half a minute.
  [[nodiscard]] std::string answer(ImporterTask task, const FileDescriptor& memory, std::size_t size_bytes) const;

 private:
  FileDescriptor socket_;
  pid_t process_ = -1;
};

}  // namespace framewire
