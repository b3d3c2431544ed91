// Communication between all ranks of a world.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/text_list.h"
#include "weft/core/world/thread_world.h"
#include "weft/core/world/world.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::says;

BOOST_AUTO_TEST_SUITE(world_test)

BOOST_AUTO_TEST_CASE(a_world_may_have_a_single_rank) {
  const World world;
  BOOST_TEST(world.size() == 1);
  BOOST_TEST(world.first());
  BOOST_TEST(world.transport() == nullptr);
  BOOST_TEST(world.gather("a") == std::vector<std::string>{"a"}, boost::test_tools::per_element());
  BOOST_TEST(world.broadcast("b") == "b");
  world.check_same("the seed", "1");
  world.barrier();
  world.set_phase("nothing");
  world.poison("nobody hears it");
}

BOOST_AUTO_TEST_CASE(texts_are_sent_to_every_rank) {
  for (int size = 2; size <= 9; ++size) {
    ThreadWorld threads(size, {.seed = 7});
    threads.run([size](const std::shared_ptr<Transport>& end) {
      const World world(end);
      std::vector<std::string> expected;
      for (int r = 0; r < size; ++r) expected.emplace_back(static_cast<std::size_t>(r * r), 'a');
      for (int again = 0; again < 3; ++again) {
        if (world.gather(expected[static_cast<std::size_t>(world.rank())]) != expected)
          throw DataError("gather");
        if (world.broadcast(world.first() ? "all" : "mine") != "all") throw DataError("broadcast");
        world.barrier();
      }
      world.check_same("the seed", "1");
    });
  }
}

BOOST_AUTO_TEST_CASE(lists_of_texts_are_checked) {
  std::string list;
  append_text(list, "one");
  append_text(list, "");
  append_text(list, std::string("\0x", 2));
  BOOST_TEST((split_texts(list) == std::vector<std::string>{"one", "", std::string("\0x", 2)}));
  BOOST_TEST(split_texts("").empty());
  for (std::size_t size = 1; size < list.size(); ++size) {
    if (size == 11 || size == 19) continue;  // truncated between two texts
    BOOST_CHECK_EXCEPTION(split_texts(std::string_view(list).substr(0, size)), FormatError,
                          says("a list of texts ends at byte " + std::to_string(size)));
  }
  BOOST_CHECK_EXCEPTION(split_texts(std::string(9, '\xff')), FormatError,
                        says("but the text at byte 8 has 18446744073709551615 bytes"));
}

BOOST_AUTO_TEST_CASE(errors_name_both_sides_of_a_difference_on_every_rank) {
  ThreadWorld threads(4, {.seed = 3});
  threads.run([](const std::shared_ptr<Transport>& end) {
    const World world(end);
    try {
      world.check_same("the seed", world.rank() >= 2 ? "5" : "1");
    } catch (const ArgumentError& e) {
      if (std::string(e.what()) ==
          "ranks differ in the seed: rank 0 (host thread-0) has 1, rank 2 (host thread-2) has 5")
        return;
    }
    throw DataError("the difference was not reported");
  });
}

// A damaged length, or a value that is not a length.
BOOST_AUTO_TEST_CASE(errors_for_oversized_texts_name_the_rank) {
  for (const std::uint64_t bytes : {World::kMaxTextBytes + 1, ~std::uint64_t{0}}) {
    ThreadWorld threads(2);
    const std::string line = fmt::format(
        "rank 1 (host thread-1) sends a text of {} bytes; the limit is 1073741824", bytes);
    BOOST_CHECK_EXCEPTION(threads.run([&](const std::shared_ptr<Transport>& end) {
      if (end->rank() == 0) return World(end).barrier();
      const auto head = std::as_bytes(std::span<const std::uint64_t>(&bytes, 1));
      end->wait(end->send(0, Transport::kChannels - 1, head));
      std::byte more{};
      end->wait(end->receive(0, 0, {&more, 1}));
    }),
                          WorldError, says(line));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_can_abort_all_other_ranks) {
  ThreadWorld threads(3);
  BOOST_CHECK_EXCEPTION(threads.run([](const std::shared_ptr<Transport>& end) {
    const World world(end);
    if (world.rank() == 2) return world.poison("the disk is full");
    world.barrier();
  }),
                        WorldError, says("rank 2 (host thread-2): the disk is full"));
}

BOOST_AUTO_TEST_CASE(an_error_on_one_rank_aborts_all_other_ranks) {
  ThreadWorld threads(3);
  threads.run([](const std::shared_ptr<Transport>& end) {
    const World world(end);
    try {
      world.poison_on_error(
          [&] {
            if (world.rank() == 1) throw DataError("row 7 is not a number");
            world.barrier();
          },
          "step 3");
    } catch (const WorldError& e) {
      const std::string line = "rank 1 (host thread-1): step 3: row 7 is not a number";
      if (world.rank() != 1 && e.what() == line && world.transport()->poisoned() == line) return;
    } catch (const DataError& e) {
      if (world.rank() == 1 && std::string(e.what()) == "row 7 is not a number") return;
    }
    throw StateError("another error");
  });
}

BOOST_AUTO_TEST_CASE(any_exception_on_one_rank_aborts_all_other_ranks) {
  ThreadWorld threads(2);
  threads.run([](const std::shared_ptr<Transport>& end) {
    const World world(end);
    const std::string line = "rank 1 (host thread-1): an exception";
    try {
      world.poison_on_error([&] {
        if (world.rank() == 1) throw 7;
        world.barrier();
      });
    } catch (const WorldError& e) {
      if (world.rank() == 0 && e.what() == line) return;
    } catch (int thrown) {
      if (world.rank() == 1 && thrown == 7 && end->poisoned() == line) return;
    }
    throw StateError("another error");
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
