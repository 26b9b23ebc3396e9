// The functions of OpenSSL that transport/tls/ calls, before those of libssl and libcrypto: a handshake by a pre-shared
// key, and records. Real TLS is slow and draws its random numbers elsewhere, so that no seed would repeat.
//
// What stands above behaves as over TLS: two flights, identities, alerts for unknown identities and wrong keys, records
// of 16 KiB, key updates, close_notify, WANT_READ and WANT_WRITE in the middle of a record. A peer that does not have
// the key, and bytes that are not the peer's next ones, are refused. Nothing is secret.
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/sim/c_library.hpp"
#include "tests/sim/openssl_connection.hpp"
#include "tests/sim/world.hpp"

using framewire::sim::World;

struct ssl_method_st {
  bool is_client;
};

extern "C" {

int RAND_priv_bytes(unsigned char* bytes, int count) {
  World* const world = World::current();
  if (world == nullptr) {
    static auto* const found = [] {
      decltype(RAND_priv_bytes)* original = nullptr;
      framewire::sim::find_next(original, "RAND_priv_bytes");
      return original;
    }();
    return found(bytes, count);
  }
  for (int i = 0; i < count; ++i) {
    bytes[i] = static_cast<unsigned char>(world->below(256));
  }
  return 1;
}

const SSL_METHOD* TLS_client_method() {
  static const ssl_method_st client{.is_client = true};
  return &client;
}

const SSL_METHOD* TLS_server_method() {
  static const ssl_method_st server{.is_client = false};
  return &server;
}

SSL_CTX* SSL_CTX_new(const SSL_METHOD* method) {
  if (World::current()->fails("SSL_CTX_new")) {
    return nullptr;
  }
  return new ssl_ctx_st{.is_client = method->is_client};
}

void SSL_CTX_free(SSL_CTX* context) {
  delete context;
}

void SSL_CTX_set_psk_use_session_callback(SSL_CTX* context, SSL_psk_use_session_cb_func callback) {
  context->use_key = callback;
}

void SSL_CTX_set_psk_find_session_callback(SSL_CTX* context, SSL_psk_find_session_cb_func callback) {
  context->find_key = callback;
}

long SSL_CTX_ctrl(SSL_CTX* /*context*/, int /*command*/, long /*number*/, void* /*pointer*/) {
  return 1;
}

long SSL_ctrl(SSL* /*ssl*/, int /*command*/, long /*number*/, void* /*pointer*/) {
  return 1;
}

int SSL_CTX_set_ciphersuites(SSL_CTX* /*context*/, const char* /*names*/) {
  return 1;
}

int SSL_CTX_set_num_tickets(SSL_CTX* /*context*/, std::size_t /*count*/) {
  return 1;
}

std::uint64_t SSL_CTX_set_options(SSL_CTX* /*context*/, std::uint64_t options) {
  return options;
}

void SSL_CTX_set_verify(SSL_CTX* /*context*/, int /*mode*/, SSL_verify_cb /*callback*/) {}

SSL_SESSION* SSL_SESSION_new() {
  return new ssl_session_st;
}

void SSL_SESSION_free(SSL_SESSION* session) {
  delete session;
}

int SSL_SESSION_set1_master_key(SSL_SESSION* session, const unsigned char* key, std::size_t bytes) {
  session->key.assign(reinterpret_cast<const char*>(key), bytes);
  return 1;
}

int SSL_SESSION_set_cipher(SSL_SESSION* /*session*/, const SSL_CIPHER* /*cipher*/) {
  return 1;
}

int SSL_SESSION_set_protocol_version(SSL_SESSION* /*session*/, int /*version*/) {
  return 1;
}

const SSL_CIPHER* SSL_CIPHER_find(SSL* /*ssl*/, const unsigned char* id) {
  return reinterpret_cast<const SSL_CIPHER*>(id);  // nobody looks into it
}

SSL* SSL_new(SSL_CTX* context) {
  return new ssl_st(*context);
}

void SSL_free(SSL* ssl) {
  delete ssl;
}

void SSL_set_bio(SSL* ssl, BIO* reads, BIO* /*writes*/) {
  BIO_free(std::exchange(ssl->bio, reads));
}

int SSL_set_ex_data(SSL* ssl, int /*index*/, void* data) {
  ssl->app_data = data;
  return 1;
}

void* SSL_get_ex_data(const SSL* ssl, int /*index*/) {
  return ssl->app_data;
}

void SSL_set_connect_state(SSL* /*ssl*/) {}

void SSL_set_accept_state(SSL* /*ssl*/) {}

int SSL_do_handshake(SSL* ssl) {
  return ssl->handshake();
}

int SSL_get_error(const SSL* ssl, int /*returned*/) {
  return ssl->error;
}

int SSL_session_reused(const SSL* /*ssl*/) {
  return 1;
}

X509* SSL_get0_peer_certificate(const SSL* /*ssl*/) {
  return nullptr;
}

int SSL_version(const SSL* /*ssl*/) {
  return TLS1_3_VERSION;
}

int SSL_read_ex(SSL* ssl, void* into, std::size_t size, std::size_t* got) {
  return ssl->read(into, size, got);
}

int SSL_read(SSL* ssl, void* into, int size) {
  std::size_t got = 0;
  return ssl->read(into, static_cast<std::size_t>(size), &got) == 1 ? static_cast<int>(got) : -1;
}

int SSL_write_ex(SSL* ssl, const void* from, std::size_t size, std::size_t* written) {
  return ssl->write(from, size, written);
}

int SSL_write(SSL* ssl, const void* from, int size) {
  std::size_t written = 0;
  return ssl->write(from, static_cast<std::size_t>(size), &written) == 1 ? static_cast<int>(written) : -1;
}

int SSL_pending(const SSL* ssl) {
  return static_cast<int>(ssl->plain.size());
}

int SSL_key_update(SSL* ssl, int /*kind*/) {
  ssl->renews_key = true;
  return 1;
}

int SSL_shutdown(SSL* ssl) {
  ssl->shut_down();
  return 0;
}

}  // extern "C"
