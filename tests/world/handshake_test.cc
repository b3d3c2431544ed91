// Ranks compare their configurations in a handshake before they start.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/build_id.h"
#include "weft/core/world/handshake.h"
#include "weft/core/world/text_list.h"
#include "weft/core/world/thread_world.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::says;

std::string list_of(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) append_text(list, text);
  return list;
}

// Runs `ranks` ranks with the given handshakes, checks that all of them throw the same error, and
// returns its message.
std::string line_of(int ranks, const std::function<Handshake(int rank)>& handshake) {
  ThreadWorld threads(ranks, {.seed = 4});
  std::mutex mutex;
  std::vector<std::string> lines;
  threads.run([&](const std::shared_ptr<Transport>& end) {
    std::string line;
    try {
      agree(World(end), handshake(end->rank()));
    } catch (const ArgumentError& e) {
      line = e.what();
    }
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  });
  BOOST_TEST(std::count(lines.begin(), lines.end(), lines[0]) == ranks);
  return lines[0];
}

BOOST_AUTO_TEST_SUITE(handshake_test)

BOOST_AUTO_TEST_CASE(handshakes_round_trip_as_messages) {
  Handshake handshake;
  handshake.add("the seed", "1");
  handshake.add("the data", "");
  handshake.add("odd", std::string("\0,", 2));
  BOOST_TEST((Handshake::parse(handshake.bytes()) == handshake));
  BOOST_TEST(Handshake::parse(Handshake().bytes()).fields.empty());
  BOOST_TEST(*handshake.find("the seed") == "1");
  BOOST_TEST(handshake.find("the seeds") == nullptr);
  BOOST_CHECK_EXCEPTION(handshake.add("the seed", "2"), ArgumentError,
                        says("cannot add field 'the seed' to the handshake"));
  BOOST_CHECK_EXCEPTION(handshake.add("", "2"), ArgumentError, says("field ''"));
}

BOOST_AUTO_TEST_CASE(malformed_handshakes_are_rejected) {
  const std::string head = "weft greeting 1";
  BOOST_CHECK_EXCEPTION(Handshake::parse(""), FormatError,
                        says("the message does not begin with 'weft greeting 1'"));
  BOOST_CHECK_EXCEPTION(Handshake::parse(list_of({"weft greeting 2", "a", "b"})), FormatError,
                        says("it is not a handshake message or has a different version"));
  BOOST_CHECK_EXCEPTION(Handshake::parse(list_of({head, "a"})), FormatError,
                        says("the handshake message ends after the name of a field"));
  BOOST_CHECK_EXCEPTION(Handshake::parse(list_of({head, "a", "b", "a", "c"})), FormatError,
                        says("the handshake message has an empty or repeated field name: 'a'"));
  BOOST_CHECK_EXCEPTION(Handshake::parse(list_of({head, "", "b"})), FormatError,
                        says("repeated field name: ''"));
  BOOST_CHECK_EXCEPTION(Handshake::parse("weft greeting 1"), FormatError,
                        says("a list of texts ends"));
}

BOOST_AUTO_TEST_CASE(errors_name_all_handshake_fields_that_differ) {
  const auto handshake = [](int rank) {
    Handshake g;
    g.add("the version of Weft", "0.1.0");
    g.add("the seed", rank >= 2 ? "2" : "1");
    g.add("the build of the program that runs (its build id)", rank == 3 ? "c0ffee" : "abcdef");
    if (rank != 1) g.add("the data", rank == 0 ? "" : "5 files");
    if (rank == 3) g.add("the mood", "good");
    return g;
  };
  BOOST_TEST(line_of(4, handshake) ==
             "ranks differ in the seed: rank 0 (host thread-0) has 1, rank 2 (host thread-2) has "
             "2; in the build of the program that runs (its build id): rank 0 (host thread-0) has "
             "abcdef, rank 3 (host thread-3) has c0ffee; in the data: rank 0 (host thread-0) has "
             "nothing, rank 2 (host thread-2) has 5 files; in the mood: rank 0 (host thread-0) "
             "has nothing, rank 3 (host thread-3) has good");
  BOOST_TEST(line_of(2, handshake) == "");
  BOOST_TEST(line_of(1, handshake) == "");
}

BOOST_AUTO_TEST_CASE(errors_name_a_rank_that_sends_no_handshake) {
  ThreadWorld threads(3);
  BOOST_CHECK_EXCEPTION(threads.run([](const std::shared_ptr<Transport>& end) {
    const World world(end);
    if (world.rank() == 1) {
      world.gather("hello");
    } else {
      agree(world, {.fields = {{"the seed", "1"}}});
    }
  }),
                        ArgumentError,
                        says("rank 1 (host thread-1) sent an invalid handshake message; start the "
                             "same program on all ranks: a list of texts ends at byte 5"));
}

// Weft's own programs are linked with a build ID.
BOOST_AUTO_TEST_CASE(programs_have_a_build_id) {
  const std::string& id = build_id();
  BOOST_TEST(id.size() >= 16u);
  BOOST_TEST(id.find_first_not_of("0123456789abcdef") == std::string::npos, id);
  BOOST_TEST(&build_id() == &id);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
