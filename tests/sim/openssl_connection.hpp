// A connection of the simulated TLS (openssl.cpp): the handshake and the records.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/sim/openssl_records.hpp"

struct ssl_session_st {
  std::string key;
};

struct ssl_ctx_st {
  bool is_client = false;
  SSL_psk_use_session_cb_func use_key = nullptr;
  SSL_psk_find_session_cb_func find_key = nullptr;
};

/// A connection.
struct ssl_st {
  explicit ssl_st(const ssl_ctx_st& context) : its(context) {}
  ~ssl_st() { BIO_free(bio); }
  ssl_st(const ssl_st&) = delete;
  ssl_st& operator=(const ssl_st&) = delete;

  int handshake();
  int read(void* into, std::size_t size, std::size_t* got);
  int write(const void* from, std::size_t size, std::size_t* written);
  void shut_down();

  const ssl_ctx_st its;
  BIO* bio = nullptr;
  void* app_data = nullptr;
  int error = SSL_ERROR_NONE;  // of the last call
  std::string plain;           // opened, and not read yet
  bool renews_key = false;

 private:
  enum class Step { hello, answer, finished, established };

  bool fail(int why, int reason = 0);
  bool send_alert(char description);
  bool push();
  bool pull(std::size_t bytes);
  bool pull_record();
  std::optional<framewire::sim::RecordSequence::Opened> next_opened();
  bool send_hello();
  bool take_hello();
  bool take_answer();
  bool take_finished();
  void use(std::uint64_t key);

  Step step_ = Step::hello;
  std::string out_;          // what the socket has not taken
  std::size_t writing_ = 0;  // plaintext bytes of the record in out_ that write() has not reported
  std::string in_;           // of the next record
  std::string nonces_;
  std::uint64_t psk_ = 0;
  framewire::sim::RecordSequence sealed_, opened_;
  bool has_shut_down_ = false;
  bool peer_has_shut_down_ = false;
};
