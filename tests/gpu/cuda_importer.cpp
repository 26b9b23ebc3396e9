#include "tests/gpu/cuda_importer.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>

#include "base/error.hpp"
#include "tests/gpu/cuda_driver.hpp"
#include "tests/gpu/cuda_memory.hpp"
#include "tests/gpu/cuda_probe.hpp"

namespace framewire {

namespace {

constexpr int longest_answer_ms = 30000;
constexpr char failed_mark = '!';  // the first character of an answer that is a fault

struct Request {
  ImporterTask task;
  std::size_t size_bytes;
};

/// A message with room for one descriptor.
class Message {
 public:
  explicit Message(Request& request) : part_{.iov_base = &request, .iov_len = sizeof request} {
    header_.msg_iov = &part_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_.data();
    header_.msg_controllen = control_.size();
  }
  void send(int socket, int descriptor) {
    cmsghdr* control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
    if (::sendmsg(socket, &header_, MSG_NOSIGNAL) < 0) {
      throw Error::from_errno("ask the second process", errno);
    }
  }
  /// An invalid descriptor: nobody asks any more.
  FileDescriptor receive(int socket) {
    int descriptor = -1;
    if (::recvmsg(socket, &header_, MSG_CMSG_CLOEXEC) > 0 && CMSG_FIRSTHDR(&header_) != nullptr) {
      std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&header_)), sizeof descriptor);
    }
    return FileDescriptor(descriptor);
  }

 private:
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
  iovec part_;
  msghdr header_{};
};

std::string carry_out(const CudaDriver& cuda, const Request& request, const FileDescriptor& descriptor) {
  const bool writes = request.task == ImporterTask::compare_and_change;
  const ProbedMemory memory(cuda, request.size_bytes, descriptor,
                            writes ? ProbedMemory::Access::read_write : ProbedMemory::Access::read);
  if (request.task == ImporterTask::write_read_only) {
    const Words zeros(16);
    const std::string copied =
        cuda.result_of("cuMemcpyHtoD_v2", memory.address(), zeros.data(), zeros.size() * sizeof zeros[0]);
    return "the copy gave " + copied + ", and cuCtxSynchronize " + cuda.result_of("cuCtxSynchronize");
  }
  Words words(memory.size_bytes() / sizeof(std::uint32_t));
  cuda.call("cuMemcpyDtoH_v2", words.data(), memory.address(), memory.size_bytes());
  std::string compared = require_test_words(words);
  if (writes) {
    cuda.call("cuMemcpyHtoD_v2", memory.address(), words.data(), sizeof words[0]);
  }
  return compared;
}

std::string try_to_carry_out(std::optional<CudaDriver>& cuda, const Request& request,
                             const FileDescriptor& descriptor) {
  try {
    if (!cuda) {
      cuda.emplace();
    }
    return carry_out(*cuda, request, descriptor);
  } catch (const std::exception& error) {
    return failed_mark + std::string(error.what());
  }
}

void serve(int socket) {
  std::optional<CudaDriver> cuda;
  for (;;) {
    Request request{};
    const FileDescriptor descriptor = Message(request).receive(socket);
    if (!descriptor.valid()) {
      return;
    }
    const std::string text = try_to_carry_out(cuda, request, descriptor);
    if (::send(socket, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
      return;
    }
  }
}

}  // namespace

CudaImporter::CudaImporter() {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw Error::from_errno("make a pair of sockets", errno);
  }
  socket_ = FileDescriptor(sockets[0]);
  const FileDescriptor other(sockets[1]);
  process_ = ::fork();
  if (process_ < 0) {
    throw Error::from_errno("start a second process", errno);
  }
  if (process_ == 0) {
    socket_.reset();
    serve(other.get());
    ::_exit(EXIT_SUCCESS);
  }
}

CudaImporter::~CudaImporter() {
  socket_.reset();
  ::kill(process_, SIGKILL);  // it may hang in the driver
  ::waitpid(process_, nullptr, 0);
}

std::string CudaImporter::answer(ImporterTask task, const FileDescriptor& memory, std::size_t size_bytes) const {
  Request request{.task = task, .size_bytes = size_bytes};
  Message(request).send(socket_.get(), memory.get());
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, longest_answer_ms) != 1) {
    throw Error::failed("the second process gave no answer within half a minute");
  }
  std::array<char, 1000> text{};
  const ssize_t size = ::recv(socket_.get(), text.data(), text.size(), 0);
  if (size <= 0) {
    throw Error::failed("the second process ended before it answered");
  }
  std::string words(text.data(), static_cast<std::size_t>(size));
  if (words[0] == failed_mark) {
    throw Error::failed("in the second process " + words.substr(1));
  }
  return words;
}

}  // namespace framewire
