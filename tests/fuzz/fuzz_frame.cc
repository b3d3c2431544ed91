// Fuzzes control messages between ranks. For any bytes, decoding returns either nothing or a
// message from a valid rank that does not change when it is encoded and decoded again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "weft/core/world/control_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kRanks = 5;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::optional<weft::ControlMessage> message = weft::decode_control_message(bytes, kRanks);
  if (!message) return 0;
  if (message->rank < 0 || message->rank >= kRanks ||
      message->text.size() >= weft::kControlMessageBytes)
    std::abort();
  if (weft::decode_control_message(weft::encode_control_message(*message), kRanks) != message)
    std::abort();
  return 0;
}
