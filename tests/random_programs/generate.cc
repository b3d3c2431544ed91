#include "weft/tests/random_programs/generate.h"

#include <algorithm>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/tests/random_programs/builder.h"
#include "weft/tests/random_programs/idioms.h"
#include "weft/tests/random_programs/make_function.h"

namespace weft::testing {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, Coverage& coverage) : random_(seed), coverage_(coverage) {
    const auto dice = random_.below(20);
    options_.grid = dice < 5;
    options_.extreme_values = dice == 5 || dice == 6;
    options_.smooth = dice >= 14;
    options_.allow_errors = !options_.smooth && random_.chance(0.15);
    if (random_.chance(0.2)) runs_ = 3;
    if (random_.chance(0.03)) options_.most = 40000;
    if (random_.chance(0.6)) few_records();
    if (!options_.smooth && random_.chance(0.3)) {
      for (std::int64_t i = random_.from(1, 3); i > 0; --i)
        options_.dtypes.push_back(
            random_.pick({DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32,
                          DType::i8, DType::u8, DType::boolean}));
    }
  }

  /// Restricts the program to a few records, so that the sequences that passes match are more
  /// frequent.
  void few_records() {
    std::vector<const OpRecord*> from = drawable_records();
    if (random_.chance(0.5)) {
      const bool elementwise = random_.chance(0.6);
      std::erase_if(from, [&](const OpRecord* op) {
        return op->has(Trait::elementwise) != elementwise &&
               op->inputs.size() < 2 + random_.word() % 2;
      });
    }
    for (std::int64_t i = random_.from(3, 9); i > 0; --i)
      options_.records.push_back(random_.pick(from));
  }

  Case make() {
    const bool differentiated = options_.smooth || random_.chance(0.1);
    Case c{{std::make_unique<Graph>(), Program(differentiated ? kDifferentiated : "fuzz")}, {}, {}};
    Graph& g = *c.module.graph;
    Builder b(g, random_, options_, coverage_, runs_);
    b.declares = true;
    b.feeds.resize(runs_);
    c.runs.resize(runs_);
    declare_symbols(g, b, c);
    declare_leaves(g, b);
    const auto ops = random_.from(3, random_.chance(0.3) ? 30 : 12);
    const double idioms = random_.pick({0.0, 0.05, 0.2, 0.5});
    int functions = 0;
    for (std::int64_t i = 0; i < ops; ++i) {
      if (random_.chance(0.06)) {
        make_function(b, options_, coverage_, functions++);
      } else if (random_.chance(idioms)) {
        grow_idiom(b);
      } else {
        b.grow();
      }
    }
    Program& p = c.module.program;
    if (differentiated) {
      differentiate(b, p, "loss");
      // The second loss may depend on gradients of the first.
      if (random_.chance(0.3)) differentiate(b, p, "loss2");
    }
    choose_updates(b, p);
    choose_outputs(b, p);
    if (random_.chance(0.15)) p.precision(Precision::high);
    if (random_.chance(0.05)) p.precision(Precision::medium);
    c.variables = b.variables;
    for (std::size_t run = 0; run < runs_; ++run) c.runs[run].feeds = b.feeds[run];
    name_values(b, g);
    Case whole = c.clone();
    whole.tidy();
    return whole;
  }

 private:
  void declare_symbols(Graph& g, Builder& b, Case& c) {
    for (const char* name : {"n", "m"}) {
      if (random_.chance(0.4)) continue;
      g.dim(name);
      for (std::size_t run = 0; run < runs_; ++run) {
        // The third run has the same sizes as the first one, so its plan is already cached.
        const std::int64_t size = run == 2   ? c.runs[0].dims.back().second
                                  : run == 0 ? random_.pick({2, 3, 4, 5, 7, 8, 16, 17})
                                             : random_.pick({0, 0, 1, 1, 2, 3, 6, 9, 33});
        c.runs[run].dims.emplace_back(name, size);
      }
    }
    relate_symbols(g, c);
    for (std::size_t run = 0; run < runs_; ++run) {
      for (const auto& [name, size] : c.runs[run].dims) b.bind(g.dim(name).as_symbol(), run, size);
    }
  }

  /// In some cases, requires m = 2 n in every run.
  void relate_symbols(Graph& g, Case& c) {
    if (g.symbols().size() < 2 || !random_.chance(0.2)) return;
    g.require(g.dim("m") == g.dim("n") * 2);
    for (CaseRun& run : c.runs) run.dims[1].second = 2 * run.dims[0].second;
  }

  void declare_leaves(Graph& g, Builder& b) {
    for (std::int64_t i = random_.from(2, 5); i > 0; --i) {
      Shape shape;
      for (std::int64_t rank = random_.below(5); rank > 0; --rank) {
        const bool symbol = !g.symbols().empty() && random_.chance(0.3);
        const auto number = options_.most > 5000 ? random_.pick({1, 2, 7, 16, 33, 65, 257, 1000})
                                                 : random_.pick({1, 2, 2, 3, 3, 4, 5, 8, 17, 33});
        shape.push_back(symbol ? Dim(random_.pick(g.symbols())) : Dim(number));
      }
      const DType dtype = i == 1 ? DType::f32 : b.any_dtype();
      std::int64_t elements = 1;
      for (const Dim& d : shape) elements *= d.is_constant() ? d.constant() : 8;
      if (elements > options_.most) shape = Shape{3, 4};
      b.leaf(dtype, shape);
    }
    // All leaves may have become too large because of the values of their symbols.
    if (b.pool().empty()) b.leaf(DType::f32, {3, 4});
  }

  /// Adds gradients of the sum of a value as outputs. Their names contain the differentiated output
  /// and the variable. Some of the gradients become updates.
  void differentiate(Builder& b, Program& p, const std::string& loss_name) {
    std::vector<Value> losses, wrt;
    for (const Builder::Entry& e : b.pool()) {
      const std::string& op = e.value.node().op().name;
      if (e.value.dtype() != DType::f32) continue;
      if (op == "input" || op == "variable") {
        wrt.push_back(e.value);
      } else if (!e.value.node().op().has(Trait::leaf)) {
        losses.push_back(e.value);
      }
    }
    if (losses.empty() || wrt.empty()) return;
    const Value loss = losses[losses.size() - 1 -
                              static_cast<std::size_t>(random_.below(std::min<std::int64_t>(
                                  4, static_cast<std::int64_t>(losses.size()))))];
    random_.shuffle(wrt);
    wrt.resize(std::min<std::size_t>(wrt.size(), 3));
    std::vector<std::int64_t> axes;
    for (int a = 0; a < loss.rank(); ++a) axes.push_back(a);
    Node* total = b.apply("sum", {loss}, {{"axes", axes}, {"keepdims", false}});
    if (total == nullptr) return;
    std::vector<Value> gradient;
    try {
      gradient = gradients(total->output(0), wrt, {.unreachable = Unreachable::zeros});
    } catch (const GradientError&) {
      return;
    }
    if (!b.evaluate_new(true)) return;
    p.output(loss_name, loss);
    for (std::size_t i = 0; i < wrt.size(); ++i) {
      const auto name = wrt[i].node().attributes().text("name");
      p.output("grad " + loss_name + " " + name, gradient[i]);
    }
    for (std::size_t i = 0; i < wrt.size(); ++i) {
      if (wrt[i].node().op().name != "variable" || random_.chance(0.4)) continue;
      Node* step = b.apply("mul", {gradient[i], b.graph().scalar(DType::f32, 0.05)});
      if (step == nullptr) continue;
      const auto& updates = p.given_updates();
      const bool updated = std::any_of(updates.begin(), updates.end(),
                                       [&](const auto& u) { return u.first.value() == wrt[i]; });
      Node* next = b.apply("sub", {wrt[i], step->output(0)});
      if (next != nullptr && !updated) p.update(Variable(wrt[i]), next->output(0));
    }
  }

  void choose_updates(Builder& b, Program& p) {
    for (const auto& [read, value] : b.updates) {
      try {
        p.update(Variable(read), value);
      } catch (const GraphError&) {  // the gradient already updates it
      }
    }
    std::vector<Value> reads;
    for (const Builder::Entry& e : b.pool()) {
      if (e.value.node().op().name == "variable" &&
          b.graph().variable_info(e.value.node()).kind != VariableKind::key) {
        reads.push_back(e.value);
      }
    }
    for (const Value& read : reads) {
      if (random_.chance(0.4)) continue;
      std::vector<Value> fitting;
      for (const Builder::Entry& e : b.pool()) {
        if (e.value.type() == read.type() && !(e.value == read)) fitting.push_back(e.value);
      }
      if (fitting.empty()) {
        for (const char* op : {"neg", "square", "logical_not"}) {
          if (Node* n = b.apply(op, {read})) fitting.push_back(n->output(0));
        }
      }
      if (fitting.empty()) continue;
      try {
        p.update(Variable(read), random_.pick(fitting));
      } catch (const GraphError&) {  // the gradient already updates it
      }
    }
  }

  void choose_outputs(Builder& b, Program& p) {
    std::vector<Value> values;
    std::map<const Node*, int> uses;
    for (const Builder::Entry& e : b.pool()) {
      for (const Value& v : e.value.node().inputs()) {
        if (v.defined()) ++uses[v.node_pointer()];
      }
    }
    for (const Builder::Entry& e : b.pool()) {
      const bool last = uses[e.value.node_pointer()] == 0;
      if (last ? random_.chance(0.7) : random_.chance(0.08)) values.push_back(e.value);
    }
    if (values.empty()) values.push_back(b.pool().back().value);
    random_.shuffle(values);
    values.resize(std::min<std::size_t>(values.size(), 12));
    int number = 0;
    for (const Value& v : values) p.output("y" + std::to_string(number++), v);
    if (random_.chance(0.1)) p.output("again", values[0]);
  }

  /// Names some values so that they can be fetched.
  void name_values(Builder& b, Graph& g) {
    int number = 0;
    for (const Builder::Entry& e : b.pool()) {
      if (random_.chance(0.1) && g.name_of(e.value).empty())
        g.set_name("hidden." + std::to_string(number++), e.value);
    }
  }

  RandomSource random_;
  Coverage& coverage_;
  GeneratorOptions options_;
  std::size_t runs_ = 2;
};

}  // namespace

Case generate_case(std::uint64_t seed, Coverage& coverage) {
  return Generator(seed, coverage).make();
}

}  // namespace weft::testing
