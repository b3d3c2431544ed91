// The program on several ranks: an error on one rank stops all ranks and is printed once.
#include "weft/models/program/distributed/ranks.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/core/world/launcher.h"
#include "weft/core/world/thread_world.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/terminal/failure.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(ranks)
namespace {

/// Exit code and error message of one rank.
struct RankOutcome {
  int code = 0;
  bool prints = false;
  std::string message = {};
};

std::vector<RankOutcome> outcomes_of(int ranks, const std::function<void(const World&)>& body) {
  std::vector<RankOutcome> all(static_cast<std::size_t>(ranks));
  ThreadWorld world(ranks);
  world.run([&](const std::shared_ptr<Transport>& end) {
    try {
      on_all_ranks(World(end), [&] { body(World(end)); });
    } catch (const CommandFailed& e) {
      all[static_cast<std::size_t>(end->rank())] = {e.failure().code(), e.print(), e.what()};
    }
  });
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(errors_on_all_ranks_are_printed_by_rank_0_only) {
  const auto all = outcomes_of(3, [](const World&) { throw UsageError("--steps is no number"); });
  for (std::size_t r = 0; r < all.size(); ++r) {
    BOOST_TEST(all[r].code == 2);
    BOOST_TEST(all[r].prints == (r == 0));
    BOOST_TEST(all[r].message == "--steps is no number");
  }
}

BOOST_AUTO_TEST_CASE(an_error_on_one_rank_is_printed_by_rank_0_with_the_rank_name) {
  const auto all = outcomes_of(4, [](const World& world) {
    if (world.rank() >= 2) throw IoError("cannot read text.txt");
  });
  for (std::size_t r = 0; r < all.size(); ++r) {
    BOOST_TEST(all[r].code == 1);
    BOOST_TEST(all[r].prints == (r == 0));
    BOOST_TEST(all[r].message == "rank 2 (host thread-2): cannot read text.txt");
  }
}

BOOST_AUTO_TEST_CASE(an_out_of_memory_error_on_one_rank_stops_all_ranks) {
  const auto all = outcomes_of(2, [](const World& world) {
    if (world.first()) throw std::bad_alloc();
  });
  for (const RankOutcome& ended : all) BOOST_TEST(ended.code == 1);
}

BOOST_AUTO_TEST_CASE(all_ranks_continue_if_there_is_no_error) {
  for (const RankOutcome& ended : outcomes_of(3, [](const World&) {})) BOOST_TEST(ended.code == 0);
}

BOOST_AUTO_TEST_CASE(a_single_rank_rethrows_its_exception) {
  BOOST_CHECK_THROW(on_all_ranks(World(), [] { throw UsageError("x"); }), UsageError);
}

BOOST_AUTO_TEST_CASE(texts_are_broadcast_from_rank_0) {
  ThreadWorld world(3);
  std::vector<std::vector<std::string>> all(3);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const World ranks(end);
    all[static_cast<std::size_t>(end->rank())] = texts_of_first(ranks,
                                                                [&] {
                                                                  return ranks.first() ? std::vector<std::string>{"one", "", "three"}
                           : std::vector<std::string>();
                                                                });
  });
  for (const auto& texts : all)
    BOOST_TEST(texts == (std::vector<std::string>{"one", "", "three"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(commands_without_rank_support_reject_several_ranks) {
  const Action one([] { return 5; });
  const Action shared([](const World& world) { return 10 + world.size(); });
  BOOST_TEST(one(World()) == 5);
  BOOST_TEST(shared(World()) == 11);
  ThreadWorld world(2);
  std::vector<std::string> messages(2);
  std::vector<int> codes(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const auto rank = static_cast<std::size_t>(end->rank());
    codes[rank] = shared(World(end));
    try {
      one(World(end));
    } catch (const CommandFailed& e) {
      messages[rank] = e.what();
    }
  });
  for (std::size_t r = 0; r < 2; ++r) {
    BOOST_TEST(codes[r] == 12);
    BOOST_TEST(messages[r] ==
               "this command runs on one rank, but 2 were started: run it without "
               "mpirun");
  }
}

BOOST_AUTO_TEST_CASE(ranks_on_one_machine_share_its_threads) {
  BOOST_TEST(threads_of_rank(World(), 0) == 0);
  BOOST_TEST(threads_of_rank(World(), 3) == 3);
  ThreadWorld world(2);
  std::vector<int> own(2), requested(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const auto rank = static_cast<std::size_t>(end->rank());
    own[rank] = threads_of_rank(World(end), 0);
    requested[rank] = threads_of_rank(World(end), 7);
  });
  // In a ThreadWorld, every rank has a different host name.
  for (std::size_t r = 0; r < 2; ++r) {
    BOOST_TEST(own[r] == hardware_threads());
    BOOST_TEST(requested[r] == 7);
  }
}

BOOST_AUTO_TEST_CASE(rank_and_size_are_read_from_the_launcher) {
  const auto of = [](const char* rank_name, const char* rank, const char* size_name,
                     const char* size) {
    ::setenv(rank_name, rank, 1);
    ::setenv(size_name, size, 1);
    const LaunchedRank found = launched_rank();
    const bool started = started_by_mpi();
    ::unsetenv(rank_name);
    ::unsetenv(size_name);
    BOOST_TEST(started);
    return std::vector<int>{found.rank, found.ranks};
  };
  if (started_by_mpi()) return;  // skip the rest if the tests themselves run under MPI
  BOOST_TEST(launched_rank().ranks == 1);
  BOOST_TEST(
      of("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4") == (std::vector<int>{2, 4}),
      boost::test_tools::per_element());
  BOOST_TEST(of("PMI_RANK", "0", "PMI_SIZE", "3") == (std::vector<int>{0, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(of("PMIX_RANK", "1", "SLURM_STEP_NUM_TASKS", "2") == (std::vector<int>{1, 2}),
             boost::test_tools::per_element());
  // A shell inside a Slurm allocation was not started by a launcher.
  ::setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  BOOST_TEST(launched_rank().ranks == 1);
  ::unsetenv("SLURM_STEP_NUM_TASKS");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
