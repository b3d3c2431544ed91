// Sizes that do not fit into the memory of any machine. Every record is planned with such sizes;
// either the bytes in the plan must be correct, or an error must be thrown. Nothing is executed.
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/plan/specialise.h"
#include "weft/graph/plan/verify.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/sanitizers.h"

namespace weft {
namespace {

using testing::message_contains;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kHostile[] = {0,
                                     1,
                                     (std::int64_t{1} << 31) - 1,
                                     (std::int64_t{1} << 31) + 1,
                                     (std::int64_t{1} << 40) + 3,
                                     std::int64_t{1} << 45,
                                     std::int64_t{1} << 62,
                                     kMax};

// The shadow memory of sanitizers counts as address space, so the limit cannot be used with them.
constexpr bool kCanLimit = !testing::kSanitized;

// Limits the additional address space of the process for as long as it exists, because the memory
// for planning must not grow with the planned sizes.
class AddressLimit {
 public:
  explicit AddressLimit(std::size_t more) {
    ::getrlimit(RLIMIT_AS, &old_);
    if (!kCanLimit) return;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = old_;
    now.rlim_cur = std::min<rlim_t>(old_.rlim_max, pages * 4096 + more);
    ::setrlimit(RLIMIT_AS, &now);
  }
  ~AddressLimit() { ::setrlimit(RLIMIT_AS, &old_); }
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;

 private:
  rlimit old_{};
};

// Builds a graph from a sample in which the sizes in `free` are replaced by symbols "n<size>".
// Returns null if the record requires constant sizes there.
std::unique_ptr<Graph> symbolic(const OpRecord& op, const OpSample& sample,
                                const std::set<std::int64_t>& free, Program& program) {
  auto g = std::make_unique<Graph>();
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Tensor& t = sample.inputs[i];
    if (!t.defined()) {
      inputs.emplace_back();
      continue;
    }
    Shape shape;
    for (const std::int64_t size : t.sizes()) {
      shape.push_back(free.contains(size) ? g->dim("n" + std::to_string(size)) : Dim(size));
    }
    inputs.push_back(g->input("x" + std::to_string(i), {t.dtype(), shape}));
  }
  try {
    Node& node = g->apply(op, inputs, sample.attributes);
    for (int o = 0; o < node.output_count(); ++o) {
      program.output("y" + std::to_string(o), node.output(o));
    }
  } catch (const Error&) {
    return nullptr;
  }
  return g;
}

void check_plan(const Plan& plan) {
  for (const PlanValue& v : plan.values) {
    __int128 bytes = static_cast<__int128>(dtype_size(v.dtype));
    for (const std::int64_t size : v.sizes) bytes *= size;
    BOOST_TEST((bytes == static_cast<__int128>(v.bytes)));
    BOOST_TEST(v.bytes <= kMaxTensorBytes);
  }
  for (const PlanStep& step : plan.steps) {
    BOOST_TEST(step.kernel.shared_scratch <= kMaxTensorBytes);
    BOOST_TEST(step.kernel.slot_scratch <= kMaxTensorBytes);
    BOOST_TEST(step.kernel.phases.size() < 200000u);
    for (const Phase& phase : step.kernel.phases) BOOST_TEST(phase.chunks >= 0);
    BOOST_TEST(step.cost_ns >= 0);
    BOOST_TEST(step.flops >= 0);
  }
  for (const PlanBuffer& b : plan.buffers) {
    if (b.space == Space::arena) BOOST_TEST(b.offset + b.bytes <= plan.arena_bytes);
  }
  verify(plan);
}

BOOST_AUTO_TEST_SUITE(hostile_sizes)

BOOST_AUTO_TEST_CASE(every_record_is_planned_correctly_or_rejected) {
  int planned = 0, refused = 0;
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || op->has_bodies()) continue;
    for (const OpSample& sample : op->samples()) {
      std::set<std::int64_t> sizes;
      for (const Tensor& t : sample.inputs) {
        if (t.defined()) sizes.insert(t.sizes().begin(), t.sizes().end());
      }
      sizes.erase(1);  // broadcasts, unlike a symbol
      std::vector<std::set<std::int64_t>> choices = {sizes};
      if (sizes.size() > 1) {
        for (const std::int64_t size : sizes) choices.push_back({size});
      }
      for (const std::set<std::int64_t>& free : choices) {
        Program program("p");
        const auto g = symbolic(*op, sample, free, program);
        if (g == nullptr) continue;
        const auto compiled = compile(program, {}, {.passes = false});
        for (const std::int64_t size : kHostile) {
          BOOST_TEST_CONTEXT(op->name << " with " << free.size() << " sizes as " << size) {
            const AddressLimit limit(std::size_t{1} << 30);
            try {
              Bindings bindings;
              for (const SymbolPtr& s : g->symbols()) bindings.bind(s, size);
              check_plan(*specialise(compiled, bindings));
              ++planned;
            } catch (const Error& e) {
              BOOST_TEST(std::string(e.what()).find("hostile_sizes_test.cc:") != std::string::npos,
                         e.what());
              ++refused;
            } catch (const std::bad_alloc&) {
              BOOST_ERROR("planning took more than 1 GiB");
            }
          }
        }
      }
    }
  }
  BOOST_TEST(planned > 500);
  BOOST_TEST(refused > 500);
}

BOOST_AUTO_TEST_CASE(errors_name_the_op_the_sizes_and_the_source_line) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  const Program p = Program("p").output("y", reshape(x, {g.dim("n"), 1}) + x);
  Session session(g);
  const auto contains = [](std::vector<std::string> parts) {
    return message_contains(std::move(parts));
  };
  BOOST_CHECK_EXCEPTION(
      session.plan(p, {{"x", Sizes{std::int64_t{1} << 31}}}), ShapeError,
      contains({"add", "f32[2147483648, 2147483648]: size overflows the address space",
                "hostile_sizes_test.cc:"}));
  BOOST_CHECK_EXCEPTION(session.plan(p, {{"x", Sizes{-3}}}), ShapeError,
                        contains({"input 'x' of program 'p'", "negative"}));
  BOOST_CHECK_EXCEPTION(session.plan(p, {{"x", Sizes{kMax}}}), ShapeError,
                        contains({"input 'x' of program 'p'", "f32[9223372036854775807]"}));
}

BOOST_AUTO_TEST_CASE(sizes_given_by_name_and_sizes_of_variables_are_also_bounded) {
  Graph g;
  const Variable cache = g.variable("kv", DType::f32, {"n", "m"}, {.kind = VariableKind::cache});
  const Program p = Program("p").output("s", sum(cache));
  Session session(g);
  BOOST_CHECK_EXCEPTION(
      session.run(p, {}, {.dims = {{"n", std::int64_t{1} << 31}, {"m", std::int64_t{1} << 31}}}),
      ShapeError,
      message_contains({"variable 'kv'", "f32[2147483648, 2147483648]", "hostile_sizes_test.cc:"}));
  BOOST_CHECK_EXCEPTION(
      g.variable("w", DType::f64, {std::int64_t{1} << 31, std::int64_t{1} << 31}), ShapeError,
      message_contains({"variable 'w'", "f64[2147483648, 2147483648]", "hostile_sizes_test.cc:"}));
  BOOST_CHECK_EXCEPTION(
      full(g, DType::f32, {Dim(kMax), Dim(2)}, 1), ShapeError,
      message_contains({"broadcast_to", "f32[9223372036854775807, 2]", "hostile_sizes_test.cc:"}));
}

BOOST_AUTO_TEST_CASE(the_total_of_many_large_values_does_not_wrap_around) {
  Graph g;
  const Value x = g.input("x", DType::u8, {"n"});
  Value sum = x;
  Program p("p");
  for (int i = 0; i < 9000; ++i) {
    sum = sum + x;
    if (i % 2 == 0) p.output("y" + std::to_string(i), sum);
  }
  Session session(g, {.passes = false});
  BOOST_CHECK_EXCEPTION(session.plan(p, {{"x", Sizes{std::int64_t{1} << 47}}}), ShapeError,
                        message_contains({"program 'p'", "2^60 bytes"}));
}

BOOST_AUTO_TEST_CASE(planning_a_large_product_needs_little_memory) {
  Graph g;
  const Value a = g.input("a", DType::f32, {"b", "m", "k"}),
              b = g.input("b", DType::f32, {"b", "k", "n"});
  const Program p = Program("p").output("c", matmul(a, b));
  Session session(g);
  const auto phases = [&](std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n) {
    const AddressLimit limit(std::size_t{1} << 28);
    const auto plan = session.plan(p, {{"a", Sizes{batch, m, k}}, {"b", Sizes{batch, k, n}}});
    check_plan(*plan);
    return plan->steps.front().kernel.phases.size();
  };
  BOOST_TEST(phases(1, std::int64_t{1} << 34, 512, 512) < 20000u);
  BOOST_TEST(phases(1, 512, std::int64_t{1} << 34, 512) < 20000u);
  BOOST_TEST(phases(std::int64_t{1} << 24, 1024, 1024, 1024) < 20000u);
  BOOST_TEST(phases(std::int64_t{1} << 40, 1, 1, 1) < 20000u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
