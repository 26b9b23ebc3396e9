// Plaintext bytes of a tcp link: vectored system calls that read and write the payload in place.
#pragma once

#include <utility>

#include "base/file_descriptor.hpp"
#include "transport/byte_wire.hpp"

namespace framewire {

class PlainWire final : public ByteWire {
 public:
  /// Takes the authenticated data connection.
  explicit PlainWire(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept override { return socket_.get(); }
  WireRead read(std::span<std::byte> first, std::span<std::byte> second) noexcept override;
  WireWrite write_some(std::span<iovec>& parts) noexcept override;
  [[nodiscard]] bool supports_sendfile() const noexcept override { return true; }
  WireWrite write_file(int file, std::uint64_t& offset_bytes, std::uint64_t& left_bytes) noexcept override;

 private:
  FileDescriptor socket_;
};

}  // namespace framewire
