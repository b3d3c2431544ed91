// Messages between ranks that run as threads.
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/thread_world.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::says;

using End = const std::shared_ptr<Transport>&;

std::span<const std::byte> bytes_of(const std::vector<int>& v) {
  return std::as_bytes(std::span(v));
}
std::span<std::byte> bytes_of(std::vector<int>& v) {
  return std::as_writable_bytes(std::span<int>(v));
}

BOOST_AUTO_TEST_SUITE(thread_world_test)

// Every rank sends messages of many sizes to every other rank on two channels. The receivers start
// with the second channel.
BOOST_AUTO_TEST_CASE(messages_on_a_channel_arrive_in_order) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    ThreadWorld world(4, {.seed = seed});
    world.run([](End end) {
      const int me = end->rank();
      std::vector<std::vector<int>> sent, received;
      std::vector<Transfer> transfers;
      sent.reserve(80), received.reserve(80);
      const auto message = [](int from, int channel, int i) {
        std::vector<int> m(static_cast<std::size_t>(i * i % 7));
        std::iota(m.begin(), m.end(), 100 * from + 10 * channel + i);
        return m;
      };
      for (int other = 0; other < end->size(); ++other) {
        if (other == me) continue;
        for (const int channel : {0, 1}) {
          for (int i = 0; i < 10; ++i) {
            sent.push_back(message(me, channel, i));
            transfers.push_back(end->send(other, channel, bytes_of(std::as_const(sent.back()))));
          }
        }
        for (const int channel : {1, 0}) {
          for (int i = 0; i < 10; ++i) {
            received.emplace_back(message(other, channel, i).size());
            transfers.push_back(end->receive(other, channel, bytes_of(received.back())));
          }
        }
      }
      for (const Transfer& t : transfers) end->wait(t);
      std::size_t at = 0;
      for (int other = 0; other < end->size(); ++other) {
        if (other == me) continue;
        for (const int channel : {1, 0}) {
          for (int i = 0; i < 10; ++i) {
            if (received[at++] != message(other, channel, i))
              throw DataError("a message was mixed up");
          }
        }
      }
    });
  }
}

// Rank 1 forwards messages from rank 0 to rank 2 and sends its own messages in between. They must
// arrive in the order of the calls.
BOOST_AUTO_TEST_CASE(messages_are_forwarded_even_if_no_rank_waits) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    ThreadWorld world(3, {.seed = seed});
    world.run([](End end) {
      constexpr int kCount = 10;
      std::vector<std::vector<int>> messages;
      for (int i = 0; i < kCount; ++i)
        messages.emplace_back(static_cast<std::size_t>(i * i % 7), end->rank() == 2 ? -1 : 10 * i);
      std::vector<int> own(1, 77), ready(1);
      std::vector<Transfer> transfers;
      if (end->rank() == 1) {
        for (std::vector<int>& m : messages) {
          const Transfer coming = end->receive(0, 1, bytes_of(m));
          transfers.push_back(end->forward(coming, 2, 5, bytes_of(std::as_const(m))));
          transfers.push_back(end->send(2, 5, bytes_of(std::as_const(own))));
        }
        // Rank 2 has received all messages before rank 1 waits for any of them.
        end->wait(end->receive(2, 9, bytes_of(ready)));
      } else if (end->rank() == 0) {
        for (const std::vector<int>& m : messages)
          transfers.push_back(end->send(1, 1, bytes_of(m)));
      } else {
        for (int i = 0; i < kCount; ++i) {
          std::vector<int>& m = messages[static_cast<std::size_t>(i)];
          end->wait(end->receive(1, 5, bytes_of(m)));
          std::vector<int> other(1);
          end->wait(end->receive(1, 5, bytes_of(other)));
          if (other[0] != 77 || m != std::vector<int>(m.size(), 10 * i))
            throw DataError("a message was mixed up");
        }
        transfers.push_back(end->send(1, 9, bytes_of(std::as_const(ready))));
      }
      for (const Transfer& t : transfers) end->wait(t);
    });
  }
}

std::string error_of(ThreadWorld& world, FunctionRef<void(End)> body) {
  try {
    world.run(body);
  } catch (const WorldError& e) {
    return e.what();
  }
  return "nothing";
}

void wait_for_rank_1(End end) {
  std::vector<int> one(1);
  end->wait(end->receive(1, 3, bytes_of(one)));
}

BOOST_AUTO_TEST_CASE(a_killed_rank_aborts_all_ranks) {
  ThreadWorld world(3);
  const std::string line = error_of(world, [&](End end) {
    if (end->rank() != 1) return wait_for_rank_1(end);
    end->set_phase("step 7: gradients");
    world.kill(1);
  });
  BOOST_TEST(line.starts_with("rank 1 (host thread-1) is lost; it was in step 7: gradients, which "
                              "began 0."),
             line);
}

BOOST_AUTO_TEST_CASE(a_rank_without_heartbeats_aborts_all_ranks) {
  ThreadWorld world(3, {.silence = std::chrono::milliseconds(50)});
  const std::string line = error_of(world, [&](End end) {
    if (end->rank() != 1) return wait_for_rank_1(end);
    end->set_phase("a save");
    world.stop(1);
  });
  BOOST_TEST(line.starts_with("rank 1 (host thread-1) is silent; it was in a save, which began 0."),
             line);
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_aborts_the_ranks_that_wait_for_it) {
  ThreadWorld world(2);
  const std::string line = error_of(world, [&](End end) {
    if (end->rank() == 0) wait_for_rank_1(end);
  });
  BOOST_TEST(
      line.starts_with("rank 1 (host thread-1) has left while other ranks wait for it; it was "
                       "last in the start"),
      line);
}

BOOST_AUTO_TEST_CASE(an_exception_on_one_rank_aborts_all_ranks) {
  ThreadWorld world(3);
  std::array<std::string, 3> lines;
  BOOST_CHECK_EXCEPTION(world.run([&](End end) {
    if (end->rank() == 1) throw IoError("net.weft: No space left on device");
    try {
      wait_for_rank_1(end);
    } catch (const WorldError& e) {
      lines[static_cast<std::size_t>(end->rank())] = e.what();
      throw;
    }
  }),
                        IoError, says("net.weft: No space left on device"));
  BOOST_TEST(lines[0] == "rank 1 (host thread-1): net.weft: No space left on device");
  BOOST_TEST(lines[2] == lines[0]);
}

BOOST_AUTO_TEST_CASE(sizes_must_agree) {
  ThreadWorld world(2, {.seed = 5});
  const std::string line = error_of(world, [&](End end) {
    std::vector<int> two(2), three(3);
    if (end->rank() == 0) {
      end->wait(end->send(1, 9, bytes_of(std::as_const(three))));
      end->wait(end->receive(1, 9, bytes_of(two)));
    } else {
      end->wait(end->receive(0, 9, bytes_of(two)));
    }
  });
  BOOST_TEST(line == "rank 0 sent 12 bytes on channel 9, but rank 1 expected 8");
}

BOOST_AUTO_TEST_CASE(misuse_is_rejected) {
  BOOST_CHECK_EXCEPTION(ThreadWorld(0), ArgumentError,
                        says("a world needs at least 1 rank, not 0"));
  ThreadWorld world(2);
  const auto end = world.connect(0);
  BOOST_CHECK_EXCEPTION(world.connect(0), StateError, says("rank 0 is already connected"));
  BOOST_CHECK_EXCEPTION(world.connect(2), ArgumentError, says("rank 2 is not in [0, 2)"));
  BOOST_CHECK_EXCEPTION(end->send(0, 1, {}), ArgumentError,
                        says("rank 0 of 2 cannot exchange messages with rank 0"));
  BOOST_CHECK_EXCEPTION(end->send(1, 1 << 15, {}), ArgumentError,
                        says("channel 32768 is not in [0, 32768)"));
  end->wait(Transfer());
  BOOST_TEST(end->done(Transfer()));
  BOOST_TEST(end->poisoned() == "");
  end->poison("enough");
  end->poison("more");
  BOOST_TEST(end->poisoned() == "enough");
  BOOST_CHECK_EXCEPTION(end->send(1, 1, {}), WorldError, says("enough"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
