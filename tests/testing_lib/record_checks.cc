#include "weft/testing/record_checks.h"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/cases/crash_guard.h"
#include "weft/tests/support/cases/record_cases.h"

namespace weft::testing {
namespace {

constexpr double kCpuSecondsPerCase = 60;

using Ops = std::shared_ptr<const OpSet>;

// A property that the op must have: its name, the way in which samples are varied, and the function
// that checks it.
struct Property {
  const char* what;
  VaryOptions vary;
  std::function<std::string(const OpSample& sample, Draw& draw)> check;
};

std::vector<Property> properties_of(const Ops& ops, const OpRecord& op, const std::string& folder) {
  const VaryOptions spread{.values = Values::spread,
                           .elements = 256,
                           .flops = 1e4,
                           .illegal_one_in = 0,
                           .extreme_one_in = 0};
  const VaryOptions tame{.values = Values::tame, .elements = 4096, .extreme_one_in = 0};
  const VaryOptions small{.elements = 512};
  return {
      {"the kernel alone", {}, [&](const OpSample& s, Draw& d) { return check_kernel(op, s, d); }},
      {"the kernel in f32 and in f64", tame,
       [&](const OpSample& s, Draw&) {
         return check_against_double(op, s, double_results(op, s));
       }},
      {"the definition", spread,
       [&](const OpSample& s, Draw&) { return check_definition(ops, op, s); }},
      {"the gradient", spread,
       [&](const OpSample& s, Draw& d) { return check_differences(ops, op, s, d); }},
      {"in a Session",
       {},
       [&](const OpSample& s, Draw& d) { return check_neighbours(ops, op, s, d); }},
      {"its gradient in a Session",
       {},
       [&](const OpSample& s, Draw& d) { return check_gradient_run_variants(ops, op, s, d); }},
      {"text and files", small,
       [&, folder](const OpSample& s, Draw& d) {
         return check_round_trip_of(ops, op, s, d, folder);
       }},
  };
}

// Runs one check and returns its failure message. A check that throws or crashes has failed.
std::string run_case(const std::string& description, const std::function<std::string()>& body) {
  std::string wrong;
  const std::optional<std::string> crash = crash_of(description, kCpuSecondsPerCase, [&] {
    try {
      wrong = body();
    } catch (const std::exception& e) {
      wrong = fmt::format("unexpected exception: {}", e.what());
    }
  });
  return crash ? fmt::format("{}: the kernel accesses memory outside its operands and scratch",
                             *crash)
               : wrong;
}

std::string check_use(const Property& property, const OpRecord& op, const OpSample& sample,
                      Draw& draw) {
  const std::string use = fmt::format("{}({})", op.name, describe(sample));
  const std::string wrong = run_case(fmt::format("{}: {}", property.what, use),
                                     [&] { return property.check(sample, draw); });
  return wrong.empty() ? "" : fmt::format("{}: {}: {}\n  {}", op.name, property.what, wrong, use);
}

}  // namespace

Outcome check_record(const Ops& ops, std::string_view name, const RecordCheckOptions& options) {
  const OpRecord& op = ops->at(name);
  if (const std::string wrong = check_complete(op); !wrong.empty()) {
    return Outcome::fail(fmt::format("{}: {}", op.name, wrong));
  }
  if (op.error_samples != nullptr) {
    for (const OpErrorSample& sample : op.error_samples()) {
      const std::string wrong = check_error_sample(ops, op, sample);
      if (!wrong.empty()) return Outcome::fail(fmt::format("{}: {}", op.name, wrong));
    }
  }
  const std::vector<OpSample> samples = op.samples();
  const TemporaryFolder folder("record");
  for (const Property& property : properties_of(ops, op, folder.path())) {
    Draw draw(stable_hash(fmt::format("{} {} {}", options.seed, op.name, property.what)));
    for (const OpSample& sample : samples) {
      const std::string wrong = check_use(property, op, sample, draw);
      if (!wrong.empty()) return Outcome::fail(wrong);
    }
    for (int i = 0; i < options.variations; ++i) {
      OpSample sample;
      try {
        sample = vary_sample(op, samples, draw, property.vary);
      } catch (const Error&) {
        continue;  // rejected by the shape rule or an attribute check
      }
      const std::string wrong = check_use(property, op, sample, draw);
      if (!wrong.empty()) return Outcome::fail(wrong);
    }
  }
  return Outcome::pass();
}

}  // namespace weft::testing
