// Control messages between the endpoints of a transport. They are separate from the messages that a
// program sends.
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

/// Version of the protocol between ranks. Different versions are incompatible.
inline constexpr std::uint32_t kWorldProtocol = 3;

/// A control message. The kinds are: the sender is alive (heartbeat); the sender has left and will
/// neither send nor receive further messages (left); the sender aborts the world (poison); and the
/// sender requests a heartbeat from the receiver (ping).
struct ControlMessage {
  enum class Kind : std::uint32_t { heartbeat = 1, left = 2, poison = 3, ping = 4 };
  Kind kind = Kind::heartbeat;
  int rank = 0;  // the sender
  /// For all kinds except poison: the time in seconds since the sender's current phase began.
  double phase_seconds = 0;
  /// For left: the number of messages that the sender has sent to the receiver and received from
  /// it.
  std::uint64_t sent = 0, received = 0;
  /// For poison: the reason. For all other kinds: the current phase of the sender.
  std::string text = {};
  friend bool operator==(const ControlMessage&, const ControlMessage&) = default;
};

/// All control messages have the same size, so that a single receive can wait for any of them.
inline constexpr std::size_t kControlMessageBytes = 1024;
using ControlMessageBytes = std::array<std::byte, kControlMessageBytes>;

/// Serialises a control message. Numbers are stored in native byte order, because all ranks run on
/// the same CPU architecture. A text that is too long is truncated.
ControlMessageBytes encode_control_message(const ControlMessage& message);
/// Parses a control message in a world with `ranks` ranks. Returns nullopt if the bytes are not a
/// valid message of this protocol version.
std::optional<ControlMessage> decode_control_message(std::span<const std::byte> bytes, int ranks);

/// Returns the ranks to which a rank relays a received abort message: the ranks at distances that
/// are powers of two. The message therefore reaches all ranks within a few rounds, even if any
/// single rank is lost.
std::vector<int> broadcast_targets(int rank, int ranks);

}  // namespace weft
