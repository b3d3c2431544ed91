#include "weft/tests/records/fuzz_loop.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>

#include "weft/core/random.h"
#include "weft/tests/support/cases/crash_guard.h"

namespace weft::testing {
namespace {

constexpr double kCpuSecondsPerCase = 30;
constexpr int kFindingsPerOp = 3;

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == 0 ? std::nullopt : std::optional<std::string>(value);
}

struct Environment {
  std::string seed = fuzz_seed();
  std::optional<std::string> op = environment("WEFT_FUZZ_OP");
  std::optional<std::string> only = environment("WEFT_FUZZ_CASE");
  std::optional<std::string> cases = environment("WEFT_FUZZ_CASES");
  double seconds = fuzz_seconds();
};

// Runs one case and returns a description of the failure.
std::string run_case(const OpRecord& op, const std::vector<OpSample>& samples, std::uint64_t seed,
                     const std::string& name, const FuzzOptions& options, const CaseBody& body) {
  std::string wrong, detail;
  const auto crash = crash_of(name, kCpuSecondsPerCase, [&] {
    try {
      Draw draw(seed);
      OpSample sample;
      try {
        sample = vary_sample(op, samples, draw, options.vary(draw));
      } catch (const Error&) {
        return;  // rejected by the rules, or its operands exceed the address space
      }
      detail = describe(sample);
      wrong = body(op, sample, draw);
    } catch (const std::exception& e) {
      wrong = fmt::format("unexpected exception: {}", e.what());
    }
  });
  if (crash) wrong = *crash;
  return wrong.empty() ? "" : fmt::format("{}\n  {}({})\n  {}", wrong, op.name, detail, name);
}

}  // namespace

std::string fuzz_seed() { return environment("WEFT_FUZZ_SEED").value_or("1"); }

double fuzz_seconds() { return std::stod(environment("WEFT_FUZZ_SECONDS").value_or("0")); }

void fuzz_records(const FuzzOptions& options, const CaseBody& body) {
  using Clock = std::chrono::steady_clock;
  const Environment env;
  const auto begin = Clock::now();
  const auto late = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count() > env.seconds;
  };
  const std::string test = boost::unit_test::framework::current_test_case().full_name();
  std::map<const OpRecord*, std::vector<OpSample>> samples;
  std::map<const OpRecord*, int> findings;
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || (options.ops && !options.ops(*op))) continue;
    if (env.op && *env.op != op->name) continue;
    samples[op] = op->samples();
  }
  const std::int64_t first = env.only ? std::stoll(*env.only) : 0;
  const std::int64_t usual = env.only    ? first + 1
                             : env.cases ? std::stoll(*env.cases)
                                         : options.cases_per_op;
  std::int64_t run = 0;
  for (std::int64_t number = first; number < usual || (!env.only && !late()); ++number) {
    for (const auto& [op, its_samples] : samples) {
      if (findings[op] >= kFindingsPerOp) continue;
      const std::string name = fmt::format(
          "WEFT_FUZZ_SEED={} WEFT_FUZZ_OP={} WEFT_FUZZ_CASE={} build/test_records -t {}", env.seed,
          op->name, number, test);
      const std::uint64_t seed =
          stable_hash(fmt::format("{} {} {} {}", env.seed, op->name, number, test));
      const std::string wrong = run_case(*op, its_samples, seed, name, options, body);
      ++run;
      if (wrong.empty()) continue;
      ++findings[op];
      BOOST_ERROR(wrong);
    }
  }
  BOOST_TEST(run > 0, "no record was selected");
  BOOST_TEST_MESSAGE(run << " cases of " << samples.size() << " ops");
}

}  // namespace weft::testing
