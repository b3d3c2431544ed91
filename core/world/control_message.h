// Control messages between the endpoints of a transport, separate from the messages of the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Version of the protocol between ranks; different versions are incompatible.
inline constexpr std::uint32_t kWorldProtocol = 2;

/// A control message: a rank is alive (heartbeat), has left and neither sends nor receives from now
/// on (left), aborts the world (poison), or requests a heartbeat from the receiver (ping).
struct ControlMessage {
  enum class Kind : std::uint32_t { heartbeat = 1, left = 2, poison = 3, ping = 4 };
  Kind kind = Kind::heartbeat;
  int rank = 0;  // the sender
  /// All kinds except poison: the time since the current phase of the sender began.
  double phase_seconds = 0;
  /// left: the number of messages that the sender has sent to the receiver, and received from it.
  std::uint64_t sent = 0, received = 0;
  /// poison: the reason. All other kinds: the current phase of the sender.
  std::string text = {};
  friend bool operator==(const ControlMessage&, const ControlMessage&) = default;
};

/// All control messages have the same size, so that a single receive can wait for any of them.
inline constexpr std::size_t kControlMessageBytes = 1024;
using ControlMessageBytes = std::array<std::byte, kControlMessageBytes>;

/// Serialises a control message. Numbers are in native byte order, because all ranks have the same
/// type of CPU. A text that is too long is truncated.
ControlMessageBytes encode_control_message(const ControlMessage& message);
/// Parses a control message in a world of `ranks` ranks; returns nullopt if the bytes are not a
/// valid message of this protocol version.
std::optional<ControlMessage> decode_control_message(std::span<const std::byte> bytes, int ranks);

/// Returns the ranks to which a rank relays an abort message that it has received: those at
/// distances of a power of two. The message thereby reaches all ranks within a few rounds, even if
/// any one of them is lost.
std::vector<int> broadcast_targets(int rank, int ranks);

}  // namespace weft
