// The senders of a scene's local layers.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "viewer/options.hpp"
#include "viewer/sender_process.hpp"
#include "viewer/viewed_stream.hpp"

namespace framewire {

/// Has one framewire-send for each layer that is local, or on a host that ssh reaches. A crash takes only that layer's
/// picture away: the sender is started again, and the stream says meanwhile why there is none. The main thread.
class LocalLayers {
 public:
  using StreamPointer = std::shared_ptr<ViewedStream>;
  /// What the owner of the streams does.
  struct Actions {
    /// Whether the user has asked the viewer to end.
    std::function<bool()> is_ending;
    /// The stream has had its last frame: says bye to its sender, which waits for that before it ends.
    std::function<void(ViewedStream& ended)> close;
    /// Puts a new stream of the same source in the place of one that has ended, and returns it; null: there is to be
    /// none, so that the source is not started again. May throw.
    std::function<StreamPointer(const StreamPointer& ended, const LocalSource& source)> replace;
  };

  /// `clock` and `log` outlive it. `program` is framewire-send; `ssh` starts it on other hosts. `drawn_size`: as
  /// sender_command() has it.
  LocalLayers(const Clock& clock, Log& log, std::string program, SshOptions ssh, Size drawn_size);
  LocalLayers(const LocalLayers&) = delete;
  LocalLayers& operator=(const LocalLayers&) = delete;
  /// As stop() and wait().
  ~LocalLayers();

  /// Starts the senders of streams that are new among `streams`, and ends those of streams that are not there any more.
  /// `sources` are those of the streams.
  void show(std::span<const StreamPointer> streams, std::span<const ViewedSource> sources);
  /// Whether `stream` shows what its `source` says.
  [[nodiscard]] bool is_source_of(const ViewedStream& stream, const ViewedSource& source) const;

  /// Follows all senders, and starts those again that have failed and whose time has come. Never waits.
  void follow(const Actions& actions);
  /// When to call follow() again.
  [[nodiscard]] std::int64_t deadline_ns() const noexcept;

  /// Whether more frames may come although the stream is over: its sender runs, or is to be started again.
  [[nodiscard]] bool goes_on(const ViewedStream& stream) const;
  /// Whether the sender has failed, and no other one has taken its place.
  [[nodiscard]] bool has_failed(const ViewedStream& stream) const;

  /// Asks all senders to end.
  void stop();
  /// After stop(): waits until they have ended. Kills those that take longer than two seconds.
  void wait();

 private:
  struct LocalLayer {
    StreamPointer stream;  // empty: it is no longer shown
    std::unique_ptr<SenderProcess> sender;
    bool is_closed = false;
    bool has_failed = false;
    bool is_given_up = false;
    std::uint64_t sessions_at_failure = 0;
  };
  [[nodiscard]] const LocalLayer* find(const ViewedStream& stream) const;
  void follow(LocalLayer& layer, const Actions& actions) const;
  static void follow_running(LocalLayer& layer, const Actions& actions);
  static void follow_failure(LocalLayer& layer);
  void start_again(LocalLayer& layer, const Actions& actions) const;

  const Clock& clock_;
  Log& log_;
  const std::string program_;
  const SshOptions ssh_;
  const Size drawn_size_;
  std::list<LocalLayer> layers_;
  std::int64_t next_follow_ns_ = 0;
};

}  // namespace framewire
