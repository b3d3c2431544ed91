// Builds graphs from arbitrary operands (missing, from another graph, of any type and size) and
// arbitrary attribute values. Every record must either create nodes or throw a weft::Error. The
// resulting graphs must give the same results with and without passes and on one or several
// threads, or fail in all these cases.
#include <fmt/format.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <limits>
#include <map>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/support/cases/crash_guard.h"
#include "weft/tests/support/cases/run_outcome.h"
#include "weft/tests/support/cases/vary_sample.h"

namespace weft::testing {
namespace {

constexpr std::array kTypes = {DType::f32, DType::f64, DType::f16, DType::bf16,   DType::i8,
                               DType::u8,  DType::i32, DType::i64, DType::boolean};

/// All ops that can be applied in a graph, and their samples.
struct Ops {
  std::vector<const OpRecord*> all;
  std::map<const OpRecord*, std::vector<OpSample>> samples;
  Ops() {
    for (const OpRecord* op : builtin_ops()->all()) {
      if (op->has(Trait::leaf)) continue;
      all.push_back(op);
      samples[op] = op->samples == nullptr ? std::vector<OpSample>{} : op->samples();
    }
  }
};

/// A random graph whose nodes may be meaningless, with the random generator that creates it.
class RandomGraph {
 public:
  RandomGraph(const Ops& ops, std::uint64_t seed) : ops_(ops), draw_(seed) {
    for (std::int64_t i = 2 + draw_.below(3); i > 0; --i) add_input(type(), shape(5));
    for (std::int64_t i = 1 + draw_.below(14); i > 0; --i) apply();
    for (const Value& v : pool_) {
      if (v.node().op().name != "input" && draw_.one_in(2))
        program_.output(fmt::format("y{}", program_.outputs().size()), v);
    }
    differentiate();
  }

  /// Returns a description of the failure, or "".
  std::string check() {
    if (program_.outputs().empty()) return "";
    DimValues sizes = {{"n", draw_.below(4)}, {"m", draw_.below(4)}};
    NamedTensors feeds;
    for (const Value& v : program_.inputs()) {
      Sizes s;
      double elements = 1;
      for (const Dim& d : v.shape()) {
        s.push_back(d.substitute([&](const SymbolPtr& symbol) -> std::optional<Dim> {
                       return Dim(symbol->name == "n" ? sizes[0].second : sizes[1].second);
                     }).constant());
        elements *= static_cast<double>(s.back());
      }
      if (elements > 1e6) return "";
      feeds.emplace_back(v.node().attributes().text("name"), data(v.dtype(), s));
    }
    std::erase_if(sizes, [&](const auto& size) {
      const auto plain = outcome([&] {
        Session(graph_).plan(program_, {}, {.dims = {{size.first, 1}}});
      });
      return plain.message.find("has no symbol") != std::string::npos;
    });
    const RunOutcome first = run({.threads = 1, .verify = true}, feeds, sizes);
    const RunOutcome plain = run({.threads = 1, .passes = false, .verify = true}, feeds, sizes);
    const RunOutcome shared = run({.threads = 3, .verify = true}, feeds, sizes);
    if (first.failed() != plain.failed())
      return "with passes " + first.str() + ", without " + plain.str();
    return first.failed() ? "" : difference(shared, first, Bits::same);
  }

 private:
  static RunOutcome outcome(const std::function<void()>& body) {
    return outcome_of([&] {
      body();
      return std::vector<Tensor>{};
    });
  }

  RunOutcome run(const SessionOptions& options, const NamedTensors& feeds, const DimValues& sizes) {
    return outcome_of([&] {
      Session session(graph_, options);
      std::vector<Tensor> all;
      for (const auto& [name, tensor] : session.run(program_, feeds, {.dims = sizes}))
        all.push_back(tensor);
      return all;
    });
  }

  DType type() { return draw_.one_in(2) ? DType::f32 : draw_.pick(kTypes); }

  Dim dim() {
    const Dim n = graph_.dim("n"), m = graph_.dim("m");
    switch (draw_.below(8)) {
      case 0: return n;
      case 1: return m;
      case 2: return n + 1;
      case 3: return 2 * n;
      case 4: return n * m;
      default: return Dim(draw_.below(6));
    }
  }

  Shape shape(std::int64_t most) {
    Shape s;
    for (std::int64_t i = draw_.below(most); i > 0; --i) s.push_back(dim());
    return s;
  }

  std::int64_t integer() {
    using Limits = std::numeric_limits<std::int64_t>;
    constexpr std::array kExtremes = {Limits::max(), Limits::min(), std::int64_t{1} << 62,
                                      std::int64_t{1} << 32, std::int64_t{-1}};
    return draw_.one_in(6) ? draw_.pick(kExtremes) : draw_.below(9) - 3;
  }

  double real() {
    using Limits = std::numeric_limits<double>;
    constexpr std::array kReals = {
        0.0, 1.0, -1.0, 0.5, 1e-6, 1e300, -0.0, Limits::quiet_NaN(), Limits::infinity()};
    return draw_.pick(kReals);
  }

  Attribute attribute(const Attribute& like) {
    if (draw_.one_in(30)) return integer();  // regardless of the expected type
    struct Visitor {
      RandomGraph& w;
      Attribute operator()(bool) const { return w.draw_.one_in(2); }
      Attribute operator()(std::int64_t) const { return w.integer(); }
      Attribute operator()(double) const { return w.real(); }
      Attribute operator()(const std::string& text) const { return text + "x"; }
      Attribute operator()(DType) const { return w.draw_.pick(kTypes); }
      Attribute operator()(const std::vector<std::int64_t>&) const {
        std::vector<std::int64_t> list(static_cast<std::size_t>(w.draw_.below(5)));
        for (std::int64_t& i : list) i = w.integer();
        return list;
      }
      Attribute operator()(const std::vector<double>&) const {
        std::vector<double> list(static_cast<std::size_t>(w.draw_.below(5)));
        for (double& d : list) d = w.real();
        return list;
      }
      Attribute operator()(const Dim&) const { return w.dim(); }
      Attribute operator()(const Shape&) const { return w.shape(5); }
      Attribute operator()(const Tensor&) const {
        return Tensor::zeros(w.type(), {w.draw_.below(3), w.draw_.below(3)});
      }
    };
    return std::visit(Visitor{*this}, like);
  }

  Value add_input(DType dtype, const Shape& s) {
    pool_.push_back(graph_.input(fmt::format("x{}", graph_.inputs().size()), {dtype, s}));
    return pool_.back();
  }

  /// Returns an operand similar to one in a sample, or an arbitrary one.
  Value operand(const Tensor& like) {
    if (!like.defined()) return {};
    for (int tries = 0; tries < 4; ++tries) {
      const Value v = draw_.pick(pool_);
      if (v.rank() == like.rank() && v.dtype() == like.dtype()) return v;
    }
    Shape s;
    for (const std::int64_t size : like.sizes()) s.push_back(draw_.one_in(4) ? dim() : Dim(size));
    return add_input(draw_.one_in(10) ? type() : like.dtype(), s);
  }

  void apply() {
    const OpRecord& op = *draw_.pick(ops_.all);
    std::vector<Value> operands;
    Attributes attributes;
    const std::vector<OpSample>& samples = ops_.samples.at(&op);
    const bool like_a_sample = !samples.empty() && !draw_.one_in(5);
    if (like_a_sample) {
      const OpSample& sample = draw_.pick(samples);
      attributes = sample.attributes;
      for (const Tensor& t : sample.inputs) operands.push_back(operand(t));
      if (draw_.one_in(30) && !operands.empty()) operands.pop_back();
    } else {
      for (std::int64_t i = draw_.below(static_cast<std::int64_t>(op.inputs.size()) + 2); i > 0;
           --i)
        operands.push_back(draw_.pick(pool_));
    }
    if (draw_.one_in(8) && !operands.empty()) {
      Value& any = operands[static_cast<std::size_t>(
          draw_.below(static_cast<std::int64_t>(operands.size())))];
      any = draw_.one_in(8) ? foreign_ : draw_.one_in(2) ? Value() : draw_.pick(pool_);
    }
    for (const AttributeSpec& spec : op.attributes) {
      if (!draw_.one_in(like_a_sample ? 7 : 2)) continue;
      const Attribute* now = attributes.find(spec.name);
      attributes.set(spec.name, attribute(now != nullptr ? *now : spec.default_value));
    }
    outcome([&] {
      Node& node = graph_.apply(op, operands, attributes);
      for (int o = 0; o < node.output_count(); ++o) pool_.push_back(node.output(o));
    });
  }

  void differentiate() {
    outcome([&] {
      Value loss;
      for (const auto& [name, v] : program_.outputs()) {
        if (!is_floating(v.dtype())) continue;
        const Value term = sum(cast(v, DType::f64));
        loss = loss.defined() ? loss + term : term;
      }
      std::vector<Value> wrt;
      for (const Value& v : graph_.inputs()) {
        if (is_floating(v.dtype())) wrt.push_back(v);
      }
      if (!loss.defined() || wrt.empty()) return;
      const auto found = gradients(loss, wrt, {.unreachable = Unreachable::zeros});
      for (std::size_t i = 0; i < found.size(); ++i)
        program_.output(fmt::format("g{}", i), found[i]);
    });
  }

  Tensor data(DType dtype, const Sizes& sizes) {
    Tensor t = Tensor::empty(DType::f64, sizes);
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      t.mutable_data<double>()[i] =
          draw_.one_in(30) ? real() : 0.25 * static_cast<double>(draw_.below(30) - 9);
    }
    return t.to(dtype);
  }

  const Ops& ops_;
  Draw draw_;
  Graph graph_, other_;
  Value foreign_ = other_.input("foreign", DType::f32, {2});
  Program program_{"p"};
  std::vector<Value> pool_;
};

BOOST_AUTO_TEST_SUITE(record_building)

BOOST_AUTO_TEST_CASE(arbitrary_calls_create_nodes_or_throw) {
  constexpr std::uint64_t kUsual = 2000;
  const Ops ops;
  const auto begin = std::chrono::steady_clock::now();
  const double seconds = fuzz_seconds();
  const std::uint64_t first = std::stoull(fuzz_seed());
  const auto late = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
           seconds;
  };
  for (std::uint64_t i = 0; i < kUsual || !late(); ++i) {
    const std::string name =
        fmt::format("WEFT_FUZZ_SEED={} build/test_records -t record_building", first + i);
    std::string wrong;
    const auto crash = crash_of(name, 30, [&] {
      try {
        wrong = RandomGraph(ops, first + i).check();
      } catch (const std::exception& e) {
        wrong = fmt::format("unexpected exception: {}", e.what());
      }
    });
    if (crash) wrong = *crash;
    if (!wrong.empty()) BOOST_ERROR(name + ": " + wrong);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
