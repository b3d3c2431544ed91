// Control messages between the two ends of a transport. A received message is either valid in this
// version or ignored.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/core/world/control_message.h"

namespace weft {
namespace {

ControlMessageBytes leave_message() {
  return encode_control_message({.kind = ControlMessage::Kind::left,
                                 .rank = 2,
                                 .phase_seconds = 1.5,
                                 .sent = 7,
                                 .received = 9,
                                 .text = "step 3: saving"});
}

// Decodes the message after changing the value at byte `at`.
template <class T>
std::optional<ControlMessage> read_with(std::size_t at, T value) {
  ControlMessageBytes bytes = leave_message();
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return decode_control_message(bytes, 3);
}

BOOST_AUTO_TEST_SUITE(control_message_test)

BOOST_AUTO_TEST_CASE(control_messages_round_trip) {
  const std::optional<ControlMessage> message = decode_control_message(leave_message(), 3);
  BOOST_REQUIRE(message.has_value());
  BOOST_TEST((message->kind == ControlMessage::Kind::left));
  BOOST_TEST(message->rank == 2);
  BOOST_TEST(message->phase_seconds == 1.5);
  BOOST_TEST(message->sent == 7u);
  BOOST_TEST(message->received == 9u);
  BOOST_TEST(message->text == "step 3: saving");
}

BOOST_AUTO_TEST_CASE(long_texts_are_truncated) {
  const ControlMessage said{
      .kind = ControlMessage::Kind::poison, .rank = 0, .text = std::string(5000, 'x')};
  const std::optional<ControlMessage> message =
      decode_control_message(encode_control_message(said), 1);
  BOOST_REQUIRE(message.has_value());
  BOOST_TEST(message->text == std::string(983, 'x'));
}

BOOST_AUTO_TEST_CASE(malformed_messages_are_rejected) {
  BOOST_TEST(read_with<std::uint32_t>(0, 0x74666557).has_value());  // unmodified
  BOOST_TEST(!read_with<std::uint32_t>(0, 0x57656674).has_value());
  BOOST_TEST(!read_with<std::uint32_t>(4, kWorldProtocol + 1).has_value());
  for (const std::uint32_t kind : {0U, 5U, 0xffffffffU})
    BOOST_TEST(!read_with(8, kind).has_value());
  for (const std::int32_t rank : {-1, 3, std::numeric_limits<std::int32_t>::min()})
    BOOST_TEST(!read_with(12, rank).has_value());
  for (const double seconds :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    BOOST_TEST(!read_with(16, seconds).has_value());
  ControlMessageBytes endless = leave_message();
  std::fill(endless.begin() + 40, endless.end(), std::byte{'x'});
  BOOST_TEST(!decode_control_message(endless, 3).has_value());
  const ControlMessageBytes message = leave_message();
  BOOST_TEST(
      !decode_control_message(std::span(message).first(kControlMessageBytes - 1), 3).has_value());
  BOOST_TEST(!decode_control_message({}, 3).has_value());
}

// An abort reaches all other ranks within a few rounds, even if one rank is lost.
BOOST_AUTO_TEST_CASE(an_abort_reaches_all_other_ranks_even_if_one_is_lost) {
  for (const int ranks : {1, 2, 3, 5, 8, 13, 64}) {
    for (int lost = 1; lost < ranks; ++lost) {
      std::set<int> heard{0};
      int turns = 0;
      for (; std::ssize(heard) < ranks - 1 && turns < 12; ++turns) {
        for (const int rank : std::vector<int>(heard.begin(), heard.end())) {
          for (const int other : broadcast_targets(rank, ranks)) {
            BOOST_TEST(other != rank);
            if (other != lost) heard.insert(other);
          }
        }
      }
      BOOST_TEST(std::ssize(heard) == ranks - 1);
      BOOST_TEST(turns <= 6);
    }
  }
  BOOST_TEST(broadcast_targets(0, 1).empty());
  BOOST_TEST((broadcast_targets(1, 64) == std::vector<int>{0, 2, 3, 5, 9, 17, 33, 49, 57, 61, 63}),
             "a rank sends to few others");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
