#include "tests/sim/openssl_connection.hpp"

#include <openssl/err.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

using framewire::sim::as_bytes;
using framewire::sim::RecordSequence;
using framewire::sim::RecordType;
using framewire::sim::weak_mac;

// ---- Bytes ----

bool ssl_st::fail(int why, int reason) {
  error = why;
  if (reason != 0) {
    ERR_raise(ERR_LIB_SSL, reason);
  }
  return false;
}

bool ssl_st::push() {
  while (!out_.empty()) {
    std::size_t taken = 0;
    if (BIO_write_ex(bio, out_.data(), out_.size(), &taken) != 1) {
      return fail(BIO_should_retry(bio) != 0 ? SSL_ERROR_WANT_WRITE : SSL_ERROR_SYSCALL);
    }
    out_.erase(0, taken);
  }
  return true;
}

bool ssl_st::pull(std::size_t bytes) {
  while (in_.size() < bytes) {
    std::string more(bytes - in_.size(), '\0');
    std::size_t got = 0;
    if (BIO_read_ex(bio, more.data(), more.size(), &got) != 1) {
      if (BIO_should_retry(bio) != 0) {
        return fail(SSL_ERROR_WANT_READ);
      }
      return BIO_eof(bio) != 0 ? fail(SSL_ERROR_SSL, SSL_R_UNEXPECTED_EOF_WHILE_READING) : fail(SSL_ERROR_SYSCALL);
    }
    in_.append(more, 0, got);
  }
  return true;
}

/// A whole record stands in in_. In the handshake, an alert is its end.
bool ssl_st::pull_record() {
  using namespace framewire::sim;
  if (!pull(record_header_bytes) || !pull(record_header_bytes + body_bytes_of(in_))) {
    return false;
  }
  if (step_ != Step::established && in_[0] == static_cast<char>(RecordType::alert)) {
    return fail(SSL_ERROR_SSL, SSL_AD_REASON_OFFSET + (in_.size() > record_header_bytes + 1 ? in_[6] : 0));
  }
  return true;
}

std::optional<RecordSequence::Opened> ssl_st::next_opened() {
  if (!pull_record()) {
    return std::nullopt;
  }
  auto record = opened_.open(std::exchange(in_, {}).substr(framewire::sim::record_header_bytes));
  if (!record) {
    fail(SSL_ERROR_SSL, SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC);
  }
  return record;
}

// ---- The handshake: hello with identity and proof, answer with proof, and the dialler's end of it ----

namespace {

constexpr std::size_t nonce_bytes = 16;
constexpr std::size_t message_header_bytes = 4;
constexpr std::size_t mac_bytes = 8;

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  RAND_priv_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count));
  return bytes;
}

/// RFC 8446, section 4: type, and a length of 24 bits.
std::string message(char type, std::string_view body) {
  return std::string{type, 0, static_cast<char>(body.size() >> 8U), static_cast<char>(body.size() & 0xffU)}.append(
      body);
}

std::uint64_t key_of(SSL_SESSION* session) {
  const std::uint64_t key = weak_mac(1, session->key);
  SSL_SESSION_free(session);
  return key;
}

}  // namespace

int ssl_st::handshake() {
  for (;;) {
    if (!push()) {
      return -1;
    }
    bool is_done = true;
    switch (step_) {
      case Step::hello:
        is_done = its.is_client ? send_hello() : take_hello();
        break;
      case Step::answer:
        is_done = take_answer();
        break;
      case Step::finished:
        is_done = take_finished();
        break;
      case Step::established:
        return 1;
    }
    if (!is_done) {
      return -1;
    }
  }
}

bool ssl_st::send_alert(char description) {
  constexpr char fatal = 2;
  out_ += framewire::sim::plain_record(RecordType::alert, std::string{fatal, description});
  push();
  return fail(SSL_ERROR_SSL, SSL_R_BAD_PSK);
}

bool ssl_st::send_hello() {
  const unsigned char* identity = nullptr;
  std::size_t identity_bytes = 0;
  SSL_SESSION* session = nullptr;
  if (its.use_key(this, nullptr, &identity, &identity_bytes, &session) != 1) {
    return fail(SSL_ERROR_SSL, SSL_R_BAD_PSK);
  }
  psk_ = key_of(session);
  nonces_ = random_bytes(nonce_bytes);
  const std::string body = nonces_ + std::string(reinterpret_cast<const char*>(identity), identity_bytes);
  out_ = framewire::sim::plain_record(RecordType::handshake,
                                      message(SSL3_MT_CLIENT_HELLO, body + as_bytes(weak_mac(psk_, "dialler" + body))));
  step_ = Step::answer;
  return true;
}

bool ssl_st::take_hello() {
  if (!pull_record()) {
    return false;
  }
  const std::string body = std::exchange(in_, {}).substr(framewire::sim::record_header_bytes);
  if (body.size() < message_header_bytes + nonce_bytes + mac_bytes || body[0] != SSL3_MT_CLIENT_HELLO) {
    return send_alert(SSL_AD_DECODE_ERROR);
  }
  const std::string signed_part = body.substr(message_header_bytes, body.size() - message_header_bytes - mac_bytes);
  const std::string identity = signed_part.substr(nonce_bytes);
  SSL_SESSION* session = nullptr;
  if (its.find_key(this, reinterpret_cast<const unsigned char*>(identity.data()), identity.size(), &session) != 1) {
    return send_alert(SSL_AD_INTERNAL_ERROR);
  }
  if (session == nullptr) {
    return send_alert(SSL_AD_HANDSHAKE_FAILURE);
  }
  psk_ = key_of(session);
  if (body.substr(body.size() - mac_bytes) != as_bytes(weak_mac(psk_, "dialler" + signed_part))) {
    return send_alert(SSL_AD_ILLEGAL_PARAMETER);
  }
  nonces_ = signed_part.substr(0, nonce_bytes) + random_bytes(nonce_bytes);
  out_ = framewire::sim::plain_record(
      RecordType::handshake,
      message(SSL3_MT_SERVER_HELLO, nonces_.substr(nonce_bytes) + as_bytes(weak_mac(psk_, "listener" + nonces_))));
  use(weak_mac(psk_, "keys" + nonces_));
  step_ = Step::finished;
  return true;
}

bool ssl_st::take_answer() {
  if (!pull_record()) {
    return false;
  }
  const std::string body = std::exchange(in_, {}).substr(framewire::sim::record_header_bytes);
  if (body.size() != message_header_bytes + nonce_bytes + mac_bytes || body[0] != SSL3_MT_SERVER_HELLO) {
    return send_alert(SSL_AD_DECODE_ERROR);
  }
  nonces_ += body.substr(message_header_bytes, nonce_bytes);
  if (body.substr(body.size() - mac_bytes) != as_bytes(weak_mac(psk_, "listener" + nonces_))) {
    return send_alert(SSL_AD_DECRYPT_ERROR);
  }
  use(weak_mac(psk_, "keys" + nonces_));
  out_ = sealed_.seal(RecordType::handshake, message(SSL3_MT_FINISHED, {}));
  step_ = Step::established;
  return true;
}

bool ssl_st::take_finished() {
  const auto record = next_opened();
  if (!record) {
    return error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC
               ? send_alert(SSL_AD_BAD_RECORD_MAC)
               : false;
  }
  step_ = Step::established;
  return record->type == RecordType::handshake || send_alert(SSL_AD_UNEXPECTED_MESSAGE);
}

/// Each direction has its own, so that nothing can be sent back to where it came from.
void ssl_st::use(std::uint64_t key) {
  sealed_.begin(weak_mac(key, its.is_client ? "dialler" : "listener"));
  opened_.begin(weak_mac(key, its.is_client ? "listener" : "dialler"));
}

// ---- Once established ----

int ssl_st::read(void* into, std::size_t size, std::size_t* got) {
  while (plain.empty()) {
    if (peer_has_shut_down_) {
      fail(SSL_ERROR_ZERO_RETURN);
      return 0;
    }
    auto record = next_opened();
    if (!record) {
      return 0;
    }
    if (record->type == RecordType::data) {
      plain = std::move(record->plain);
    } else if (record->type == RecordType::handshake) {
      opened_.next_key();
    } else {
      peer_has_shut_down_ = true;
    }
  }
  *got = std::min(size, plain.size());
  std::memcpy(into, plain.data(), *got);
  plain.erase(0, *got);
  return 1;
}

int ssl_st::write(const void* from, std::size_t size, std::size_t* written) {
  if (has_shut_down_) {
    fail(SSL_ERROR_SSL, SSL_R_PROTOCOL_IS_SHUTDOWN);
    return 0;
  }
  if (out_.empty() && writing_ == 0) {
    if (std::exchange(renews_key, false)) {
      out_ = sealed_.seal(RecordType::handshake, message(SSL3_MT_KEY_UPDATE, {}));
      sealed_.next_key();
    }
    writing_ = std::min(size, framewire::sim::max_plain_bytes);
    out_ += sealed_.seal(RecordType::data, {static_cast<const char*>(from), writing_});
  }
  if (!push()) {
    return 0;
  }
  *written = std::exchange(writing_, 0);
  return 1;
}

void ssl_st::shut_down() {
  if (step_ == Step::established && !std::exchange(has_shut_down_, true)) {
    constexpr char warning = 1;
    out_ += sealed_.seal(RecordType::alert, std::string{warning, SSL_AD_CLOSE_NOTIFY});
    push();
  }
}
