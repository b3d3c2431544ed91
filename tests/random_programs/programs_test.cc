// Random programs, and programs that failed before.
//   WEFT_PROGRAMS=N        number of random programs (./run check programs uses 10,000)
//   WEFT_PROGRAMS_SEED=S   seed of the first program
//   WEFT_PROGRAMS_SHRINK=T seconds to spend on shrinking a failing program
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>

#include "weft/tests/random_programs/examine.h"
#include "weft/tests/random_programs/generate.h"
#include "weft/tests/random_programs/shrink.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/more_threads.h"

namespace weft {
namespace {

using testing::Case;
using testing::Examined;
using testing::Failure;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

// The maximum number of characters of a program that are printed; the file contains the complete
// program.
constexpr std::size_t kMaxPrinted = 4000;

/// Shrinks a failing program, prints it, and stores it in a file.
void report(const Case& c, const Failure& failure, std::uint64_t seed) {
  const Case small = testing::shrink(c, failure.check,
                                     static_cast<double>(number_from("WEFT_PROGRAMS_SHRINK", 30)));
  Examined ignored;
  const auto again = testing::examine(small, 0, ignored, failure.check);
  const std::string message = again ? again->message : failure.message;
  const std::string text =
      testing::case_text(small, fmt::format("seed {}\n{}: {}", seed, failure.check, message));
  const std::string path = fmt::format("failed-program-{}.txt", seed);
  testing::write_file(path, text);
  BOOST_ERROR("program of seed " << seed << ": " << failure.check << ": " << message
                                 << "\nwritten to " << std::filesystem::absolute(path).string()
                                 << ":\n"
                                 << text.substr(0, kMaxPrinted));
}

BOOST_AUTO_TEST_SUITE(programs)

BOOST_AUTO_TEST_CASE(previously_failing_programs_pass) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/tests/random_programs/cases")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    BOOST_TEST_CONTEXT(file) {
      const Case c = testing::parse_case(testing::read_file(file), file);
      Examined examined;
      const auto failure = testing::examine(c, 0, examined);
      if (failure) BOOST_ERROR(failure->check << ": " << failure->message);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_seed_with_only_oversized_leaves_generates_a_program) {
  testing::Coverage coverage;
  const Case c = testing::generate_case(20513, coverage);
  BOOST_TEST(!c.module.program.nodes().empty());
}

BOOST_AUTO_TEST_CASE(random_programs_match_their_scalar_models_in_every_execution_mode) {
  const std::uint64_t count = number_from("WEFT_PROGRAMS", 1200);
  const std::uint64_t first = number_from("WEFT_PROGRAMS_SEED", 1);
  const testing::MoreThreads more;
  testing::Coverage coverage;
  Examined examined;
  const std::uint64_t most = number_from("WEFT_PROGRAMS_FAILURES", 10);  // stop after this number
  std::uint64_t failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < most; ++seed) {
    Case c = testing::generate_case(seed, coverage);
    if (const auto failure = testing::examine(c, seed, examined)) {
      ++failures;
      report(c, *failure, seed);
    }
  }
  std::size_t drawn = 0, records = 0;
  std::string missing;
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->name == "input" || op->name == "variable") continue;
    ++records;
    if (examined.records[op->name] > 0 || (op->has_bodies() && coverage[op->name] > 0)) {
      ++drawn;
    } else {
      missing += " " + op->name;
    }
  }
  std::string passes;
  for (const auto& [pass, changed] : examined.passes) {
    if (pass != "start") passes += fmt::format(" {} {}", pass, changed);
  }
  std::string introduced;
  for (const auto& [op, count] : examined.introduced)
    introduced += fmt::format(" {} {}", op, count);
  BOOST_TEST_MESSAGE("changed by passes:" << passes
                                          << "; nodes created by passes only:" << introduced);
  BOOST_TEST_MESSAGE(fmt::format(
      "{} programs: {} nodes and {} after the passes checked, {} gradients, {} with rejected data, "
      "{} under a memory budget, {} functions with custom gradients; {} of {} records, "
      "without:{}",
      count, examined.nodes, examined.optimised_nodes, examined.gradients, examined.refused,
      examined.budgets, coverage[testing::kCustomGradients], drawn, records, missing));
  if (count < 200) return;
  BOOST_TEST(drawn + 3 >= records, "records without a use in any program:" << missing);
  BOOST_TEST(examined.gradients > static_cast<int>(count) / 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
