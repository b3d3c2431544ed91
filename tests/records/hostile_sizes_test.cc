// Plans for sizes that are too large for any memory. Every op must either plan the correct number
// of bytes or report which size is too large. Nothing is executed.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/support/cases/session_case.h"

namespace weft::testing {
namespace {

using Wide = unsigned __int128;

std::int64_t hostile_size(Draw& draw) {
  static constexpr std::int64_t kSizes[] = {0,
                                            1,
                                            2,
                                            3,
                                            65537,
                                            (std::int64_t{1} << 31) - 1,
                                            std::int64_t{1} << 31,
                                            (std::int64_t{1} << 32) + 1,
                                            std::int64_t{1} << 40,
                                            (std::int64_t{1} << 61) - 1,
                                            std::int64_t{1} << 61,
                                            std::int64_t{1} << 62,
                                            std::numeric_limits<std::int64_t>::max()};
  return draw.pick(kSizes);
}

// Checks that the bytes in a plan match the sizes.
std::string wrong_bytes(const Plan& plan) {
  for (const PlanValue& v : plan.values) {
    Wide bytes = dtype_size(v.dtype);
    for (const std::int64_t size : v.sizes) {
      if (size < 0) return fmt::format("a value has sizes {}", to_string(v.sizes));
      const Wide factor = static_cast<Wide>(size);
      if (factor != 0 && bytes > ~Wide{0} / factor)
        return "the number of planned bytes exceeds 128 bits";
      bytes *= factor;
    }
    if (bytes != Wide{v.bytes} || v.bytes > std::size_t{1} << 63) {
      return fmt::format("{}{} is planned with {} bytes", dtype_name(v.dtype), to_string(v.sizes),
                         v.bytes);
    }
  }
  for (const PlanBuffer& b : plan.buffers) {
    if (b.space != Space::arena) continue;
    if (Wide{b.offset} + b.bytes > Wide{plan.arena_bytes}) {
      return fmt::format("{} bytes at {} in an arena of {}", b.bytes, b.offset, plan.arena_bytes);
    }
  }
  for (const PlanStep& step : plan.steps) {
    for (const double x : {step.flops, step.bytes, step.cost_ns}) {
      if (!(x >= 0) || !std::isfinite(x)) {
        return fmt::format("a step has a cost of {} FLOPs, {} bytes and {} ns", step.flops,
                           step.bytes, step.cost_ns);
      }
    }
    for (const Phase& phase : step.kernel.phases) {
      if (phase.chunks < 0) return fmt::format("{} chunks", phase.chunks);
    }
    if (step.scratch.defined() && plan.buffers[step.scratch].bytes < step.kernel.shared_scratch) {
      return "scratch is smaller than the kernel requires";
    }
  }
  return "";
}

std::string check_plan(const OpRecord& op, const OpSample& sample, Draw& draw) {
  const auto symbolic = symbolise(op, sample, Equalities::solve,
                                  [&](std::int64_t size) { return size == 1 && draw.one_in(2); });
  if (!symbolic || symbolic->contradicted || symbolic->symbols.empty()) return "";
  Surroundings surroundings{.symbolic = &*symbolic};
  if (draw.one_in(2)) surroundings.neighbours_seed = draw.bits() | 1;
  if (op.gradient != Gradient::none && draw.one_in(4)) surroundings.gradient_seed = draw.bits() | 1;
  std::string text;
  try {
    const SessionCase built(op, sample, surroundings);
    if (built.empty()) return "";
    for (int i = 0; i < 4; ++i) {
      Bindings values;
      text.clear();
      for (const SymbolPtr& s : symbolic->symbols) {
        const std::int64_t usual = *symbolic->values.find(*s);
        values.bind(s, draw.one_in(3) ? usual : hostile_size(draw));
      }
      for (const ValueType& type : symbolic->inputs) text += " " + type.str();
      text += " with " + values.str();
      try {
        const auto plan =
            built.plan({.threads = 1, .passes = draw.one_in(2), .verify = true}, &values);
        const std::string wrong = wrong_bytes(*plan);
        if (!wrong.empty()) return wrong + text;
        plan->memory().text();
        plan->cost().text();
      } catch (const Error&) {  // a proper error message
      } catch (const std::exception& e) {
        return fmt::format("an exception that is not a weft::Error: {}{}", e.what(), text);
      }
    }
  } catch (const Error&) {
    return "";  // invalid case
  }
  return "";
}

BOOST_AUTO_TEST_SUITE(record_hostile_sizes)

BOOST_AUTO_TEST_CASE(every_op_plans_the_correct_number_of_bytes_or_throws) {
  fuzz_records({.cases_per_op = 60,
                .vary = [](Draw&) { return VaryOptions{.values = Values::tame, .elements = 512}; }},
               check_plan);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
