// One viewer at the sender: its handshake, its link, its outlet, and how it ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/feed.hpp"
#include "transport/session/messages.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// What the sessions of one sender have in common. Outlives them.
struct SenderContext {
  SenderContext(const EndpointOptions& endpoint, std::vector<Stream*> offered, std::string its_program, Log& its_log);

  std::vector<Stream*> streams;
  std::vector<LinkKind> allowed_links;
  std::string program;
  LinkTerms terms;
  SenderDomains domains;  // which the terms name
  SenderDomains pull_domains{PoolReaders::viewers};
  Log* log;
  std::atomic<std::int64_t> stop_at_ns = INT64_MAX;  // sessions that are not done by then are cut
};

/// How a session went. frames_sent = frames_received + frames_lost, frames_produced = frames_skipped + frames_sent.
struct SessionReport {
  std::string viewer;
  std::string stream;
  std::string transport;
  std::string ending;  // a sentence
  bool has_said_bye = false;
  bool was_refused = false;  // by the viewer, which found no link of use after all
  OutletCounts counts;
  std::uint64_t frames_received = 0;
  std::uint64_t frames_lost = 0;
  bool pulls = false;               // it took its frames itself, beside the counts,
  std::uint64_t frames_pulled = 0;  // so many, as it said
  std::string viewer_statistics;    // JSON object, where the viewer sent one
  std::string taker = "viewer";     // StreamOptions::taker and says_endings
  bool says_ending = true;
};

/// Runs on one thread from the constructor to the destructor; wake() may come from any.
class SenderSession {
 public:
  /// `way` says how data connections come about; it and the context outlive the session.
  SenderSession(SenderContext& context, Authenticated authenticated, DataWay way);
  ~SenderSession();
  SenderSession(const SenderSession&) = delete;
  SenderSession& operator=(const SenderSession&) = delete;

  /// Handshake, then frames until either end says bye or is gone. Throws Error when the handshake fails; a session that
  /// stood ends with a report instead.
  SessionReport run();

  void wake() noexcept { raise_event(wake_event_.get()); }
  /// Whether the viewer has got as far as to count among those of its stream. Any thread.
  [[nodiscard]] bool has_joined() const noexcept { return has_joined_.load(std::memory_order_relaxed); }

 private:
  void shake_hands();
  void tell(const Error& error) noexcept;
  bool has_last_words() noexcept;
  [[nodiscard]] OfferMessage make_offer(const SessionId& session) const;
  [[nodiscard]] std::string why_no_rdma() const;
  [[nodiscard]] LinkTerms terms_for(const ChooseMessage& choice) const;
  void check_pull(const ChooseMessage& choice);
  void check_encryption(const ChooseMessage& choice);
  ChooseMessage settle(std::unique_ptr<nlohmann::json> answer);
  ChooseMessage agree(const nlohmann::json& answer);
  std::unique_ptr<nlohmann::json> connect(const DataConnection& connection, const ChooseMessage& choice);
  std::unique_ptr<nlohmann::json> await_peer(const DataConnection& connection, const Token& token,
                                             const ChooseMessage& choice);
  std::unique_ptr<nlohmann::json> dial_peer(const DataConnection& connection, const ChooseMessage& choice);
  void make_feed(DataPath path, const ChooseMessage& choice);
  void join(const ChooseMessage& choice, const Feed* before = nullptr);
  [[nodiscard]] Stream& stream_by_number(std::uint32_t number) const;
  void say_that_link_fails(std::string_view link, const std::string& why);
  void change_link(std::unique_ptr<nlohmann::json> answer);
  void give_up_link(const Error& error);
  void serve();
  void handle_messages();
  void handle(const nlohmann::json& message);
  void announce_epoch();
  void say_bye_when_drained();
  void check_peer();
  bool may_bye_still_come(LinkState state) noexcept;
  void wait();
  SessionReport make_report();

  SenderContext& context_;
  Authenticated authenticated_;
  DataWay way_;
  FileDescriptor wake_event_;
  SessionId session_{};
  OfferMessage offer_;
  std::size_t choices_ = 0;  // that the viewer has made, of the links in the offer
  Stream* stream_ = nullptr;
  std::unique_ptr<Feed> feed_;
  std::atomic<bool> has_joined_ = false;
  bool has_begun_ = false;  // the viewer was ready: what it gets comes by this link or not at all
  bool bye_sent_ = false;
  bool is_over_ = false;
  std::int64_t next_check_ns_ = 0;
  std::int64_t link_closed_ns_ = 0;  // since when the viewer's end of the link is closed; 0: it is not
  std::uint64_t viewer_received_ = 0;
  std::unique_ptr<nlohmann::json> early_;  // a message that came before its link
  SessionReport report_;
};

}  // namespace framewire
