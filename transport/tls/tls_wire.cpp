#include "transport/tls/tls_wire.hpp"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/tls/bio.hpp"
#include "transport/tls/tls_handshake.hpp"

namespace framewire {

namespace {

// RFC 8446, sections 5.1 and 5.2: the longest plaintext of a record; its header, the content type and the tag of
// AES-GCM.
constexpr std::size_t record_bytes = std::size_t{16} * 1024;
constexpr std::size_t record_overhead_bytes = 5 + 1 + 16;
/// One system call sends as many whole records as fit, and possibly a key update.
constexpr std::size_t records_per_call = 16;
constexpr std::size_t key_update_bytes = 64;
constexpr std::size_t max_sealed_bytes = records_per_call * (record_bytes + record_overhead_bytes) + key_update_bytes;
/// So many messages of TLS itself may come between two bytes of plaintext. An honest end sends one: a new key costs the
/// reader far more than the sender.
constexpr int max_messages_in_a_row = 32;

}  // namespace

struct TlsWire::State {
  explicit State(FileDescriptor its_socket, std::uint32_t its_records_per_key)
      : socket(std::move(its_socket)), records_per_key(its_records_per_key), records_left(its_records_per_key) {}

  FileDescriptor socket;
  BufferBio bio{max_sealed_bytes};
  SslPointer ssl;
  // An SSL object allows one call at a time. With one mutex alone, a thread that writes record after record could hold
  // it as long as it likes. `next` makes it fair: its holder gets `mutex` next.
  std::mutex next;
  std::mutex mutex;
  std::atomic<bool> is_broken = false;
  std::atomic<bool> saw_tampering = false;

  // Used by the reading thread.
  std::unique_ptr<std::byte[]> came = std::make_unique_for_overwrite<std::byte[]>(max_sealed_bytes);
  bool may_hold_more = false;  // unread bytes in `came`, or decrypted
  int messages_in_a_row = 0;   // of TLS itself, since the last plaintext

  // Used by the writing thread.
  std::array<std::byte, record_bytes> gathered;
  std::size_t gathered_bytes = 0;
  std::size_t sent_bytes = 0;  // of bio.sealed()
  const std::uint32_t records_per_key;
  std::uint32_t records_left;

  class Turn;
  void handshake(TlsRole role, const Key& key, std::int64_t deadline_ns, int cancel_fd);
  WireRead open_record(std::span<std::byte> into) noexcept;
  WireRead read(std::span<std::byte> into) noexcept;
  bool renew_key_in_time() noexcept;
  bool seal(std::span<const std::byte> bytes) noexcept;
  bool seal_gathered() noexcept;
  bool seal_some(std::span<iovec>& parts) noexcept;
  [[nodiscard]] bool has_room() const noexcept {
    return bio.room_bytes() >= record_bytes + record_overhead_bytes + key_update_bytes;
  }
  WireWrite flush() noexcept;
};

class TlsWire::State::Turn {
 public:
  explicit Turn(State& state) : mutex_(state.mutex) {
    const std::scoped_lock in_line(state.next);
    mutex_.lock();
  }
  ~Turn() { mutex_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::mutex& mutex_;
};

void TlsWire::State::handshake(TlsRole role, const Key& key, std::int64_t deadline_ns, int cancel_fd) {
  SocketBio socket_bio;
  const TlsSide side{
      .socket = socket.get(), .role = role, .peer = "the other end of the data connection", .cancel_fd = cancel_fd};
  try {
    ssl = perform_tls_handshake(side, psk_of_data(key), socket_bio, deadline_ns);
  } catch (const Error& error) {
    if (error.status() == ExitStatus::refused) {  // both sides know the token, so both have the key
      throw Error::lost_peer("the TLS handshake of the data connection was disturbed on the way");
    }
    throw;
  }
  BIO* buffers = bio.open();
  if (buffers == nullptr) {
    ssl.reset();  // before socket_bio, to which it still refers
    throw Error::failed("cannot set up TLS 1.3: no memory");
  }
  SSL_set_bio(ssl.get(), buffers, buffers);  // takes ownership
  // Otherwise OpenSSL allocates its buffers again for every record.
  SSL_clear_mode(ssl.get(), SSL_MODE_RELEASE_BUFFERS);
  // Otherwise one call takes as many messages of TLS itself as have come.
  SSL_clear_mode(ssl.get(), SSL_MODE_AUTO_RETRY);
}

/// Decrypts one record, or returns the rest of the last one. `again`: it had no plaintext, or is not complete.
WireRead TlsWire::State::open_record(std::span<std::byte> into) noexcept {
  const Turn turn(*this);
  ERR_clear_error();
  std::size_t bytes = 0;
  const int returned = SSL_read_ex(ssl.get(), into.data(), into.size(), &bytes);
  const bool ran_dry = bio.take_ran_dry();
  if (returned == 1) {
    messages_in_a_row = 0;
    return {.status = WireStatus::moved, .bytes = bytes};
  }
  may_hold_more = false;
  switch (SSL_get_error(ssl.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      may_hold_more = !ran_dry;
      if (may_hold_more && ++messages_in_a_row > max_messages_in_a_row) {
        is_broken = true;
        return {.status = WireStatus::failed};
      }
      return {.status = WireStatus::again};
    case SSL_ERROR_ZERO_RETURN:
      return {.status = WireStatus::closed};
    default:
      // These bytes are not the peer's next record. No alert is sent, because another thread may be in the middle of
      // sending.
      ERR_clear_error();
      is_broken = true;
      saw_tampering = true;
      return {.status = WireStatus::failed};
  }
}

/// Reads plaintext, of one record at most. Receives once: a peer may never stop sending what has no plaintext.
WireRead TlsWire::State::read(std::span<std::byte> into) noexcept {
  bool has_received = false;
  while (!is_broken) {
    while (may_hold_more) {
      const WireRead opened = open_record(into);
      if (opened.status != WireStatus::again) {
        return opened;
      }
    }
    if (has_received) {
      return {.status = WireStatus::again};  // the socket tells if there is more
    }
    const auto got = ::recv(socket.get(), came.get(), max_sealed_bytes, MSG_DONTWAIT);
    if (got > 0) {
      bio.bring({came.get(), static_cast<std::size_t>(got)});
      may_hold_more = true;
      has_received = true;
    } else if (got == 0) {
      // An attacker may have cut the connection. That needs no check here: the control channel says how many frames
      // there are.
      return {.status = WireStatus::closed};
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {.status = WireStatus::again};
    } else if (errno != EINTR) {
      break;
    }
  }
  return {.status = WireStatus::failed};
}

/// Under the mutex. Changes the key in time. The key update is sent before the next record.
bool TlsWire::State::renew_key_in_time() noexcept {
  if (records_left > 0) {
    --records_left;
    return true;
  }
  records_left = records_per_key - 1;
  return SSL_key_update(ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
}

/// Seals at most one record. Only with has_room().
bool TlsWire::State::seal(std::span<const std::byte> bytes) noexcept {
  const Turn turn(*this);
  ERR_clear_error();
  bio.allow_writing(true);
  std::size_t written = 0;
  const bool sealed = !is_broken && renew_key_in_time() &&
                      SSL_write_ex(ssl.get(), bytes.data(), bytes.size(), &written) == 1 && written == bytes.size();
  bio.allow_writing(false);
  if (!sealed) {
    ERR_clear_error();
    is_broken = true;
    errno = EBADMSG;
  }
  return sealed;
}

bool TlsWire::State::seal_gathered() noexcept {
  const std::size_t bytes = std::exchange(gathered_bytes, 0);
  return bytes == 0 || seal(std::span(gathered).first(bytes));
}

/// Seals from `parts` what the buffer has room for, and cuts them to the rest.
bool TlsWire::State::seal_some(std::span<iovec>& parts) noexcept {
  for (drop_written(parts, 0); has_room(); drop_written(parts, 0)) {
    if (parts.empty()) {
      return seal_gathered();
    }
    const std::span part(static_cast<const std::byte*>(parts.front().iov_base), parts.front().iov_len);
    std::size_t taken = record_bytes;
    if (gathered_bytes == 0 && part.size() >= record_bytes) {
      if (!seal(part.first(record_bytes))) {
        return false;
      }
    } else {
      taken = std::min(part.size(), record_bytes - gathered_bytes);
      std::memcpy(gathered.data() + gathered_bytes, part.data(), taken);
      gathered_bytes += taken;
      if (gathered_bytes == record_bytes && !seal_gathered()) {
        return false;
      }
    }
    drop_written(parts, taken);
  }
  return true;
}

/// Sends what is sealed.
WireWrite TlsWire::State::flush() noexcept {
  const auto left = bio.sealed().subspan(sent_bytes);
  const auto sent = left.empty() ? 0 : ::send(socket.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    return errno == EINTR ? WireWrite::more : is_passing(errno) ? WireWrite::full : WireWrite::failed;
  }
  sent_bytes += static_cast<std::size_t>(sent);
  if (sent_bytes < bio.sealed().size()) {
    return WireWrite::full;
  }
  bio.clear_sealed();
  sent_bytes = 0;
  return WireWrite::done;
}

TlsWire::TlsWire(FileDescriptor socket, TlsRole role, const Key& key, std::int64_t deadline_ns, int cancel_fd,
                 std::uint32_t records_per_key)
    : state_(std::make_unique<State>(std::move(socket), records_per_key)) {
  state_->handshake(role, key, deadline_ns, cancel_fd);
}

TlsWire::~TlsWire() = default;

int TlsWire::fd() const noexcept {
  return state_->socket.get();
}

WireRead TlsWire::read(std::span<std::byte> first, std::span<std::byte> second) noexcept {
  return state_->read(first.empty() ? second : first);
}

WireWrite TlsWire::write_some(std::span<iovec>& parts) noexcept {
  if (!state_->seal_some(parts)) {
    return WireWrite::failed;
  }
  const WireWrite flushed = state_->flush();
  const bool has_rest = !parts.empty() || state_->gathered_bytes > 0;
  return flushed == WireWrite::done && has_rest ? WireWrite::more : flushed;
}

bool TlsWire::saw_tampering() const noexcept {
  return state_->saw_tampering;
}

}  // namespace framewire
