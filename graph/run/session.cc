#include "weft/graph/run/session.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/floating_point.h"
#include "weft/graph/distributed/shard_feeds.h"
#include "weft/graph/distributed/step_runner.h"
#include "weft/graph/engine/engine.h"

namespace weft {
namespace {

// Marks the Session as in use during the lifetime of this object. Everything that the Session
// computes during this time, including constants folded by passes, uses the default floating-point
// environment instead of the caller's.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
    if (flag_.exchange(true, std::memory_order_acquire)) {
      throw StateError(
          "this Session is in use by another thread, or by the run that invoked this callback; "
          "create one Session per thread over a shared VariableStore");
    }
  }
  ~Busy() { flag_.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
  DefaultFloatingPoint environment_;
};

// Returns true for programs without outputs and updates, too, which are rejected when they run.
bool is_unsharded(const Program& program) {
  return program.shards().count == 1 || program.graph() == nullptr;
}

}  // namespace

struct Session::Impl {
  Impl(Graph& graph, std::shared_ptr<VariableStore> store, const SessionOptions& options)
      : engine(graph, std::move(store), options), ranks(engine) {}

  void check_graph(const Program& program) const {
    if (program.graph() != nullptr && program.graph() != &engine.graph()) {
      throw GraphError(
          fmt::format("program '{}' and this Session belong to different graphs", program.name()));
    }
  }
  bool has_ranks() const { return engine.options().world.size() > 1; }
  Results run_unsharded(const Program& program, const NamedTensors& feeds,
                        const RunOptions& options) {
    return has_ranks() ? ranks.run_unsharded(program, feeds, options)
                       : engine.run(program, feeds, options);
  }

  Engine engine;
  StepRunner ranks;  // for programs with shards, and for several ranks
  std::atomic<bool> busy{false};
};

Session::Session(Graph& graph, SessionOptions options)
    : Session(graph, std::make_shared<VariableStore>(), options) {}

Session::Session(Graph& graph, std::shared_ptr<VariableStore> store, SessionOptions options)
    : impl_(std::make_unique<Impl>(graph, std::move(store), options)) {}

Session::~Session() = default;

Results Session::run(const Program& program, const NamedTensors& feeds, const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  if (is_unsharded(program)) return impl_->run_unsharded(program, feeds, options);
  const auto of_shard = [&](int shard) { return slice_feeds(program, feeds, shard); };
  return impl_->ranks.run(program, of_shard, options);
}

Results Session::run_shards(const Program& program,
                            const std::function<NamedTensors(int shard)>& feeds,
                            const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  if (is_unsharded(program)) return impl_->run_unsharded(program, feeds(0), options);
  return impl_->ranks.run(program, feeds, options);
}

ShardRun Session::shards_of_rank(const Program& program) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  return is_unsharded(program) ? ShardRun{0, 1} : impl_->ranks.shards_of_rank(program);
}

std::shared_ptr<const Plan> Session::plan(const Program& program, const NamedSizes& feeds,
                                          const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  return is_unsharded(program) ? impl_->engine.plan(program, feeds, options)
                               : impl_->ranks.plan(program, feeds, options);
}

Tensor Session::value(std::string_view name) {
  const Busy busy(impl_->busy);
  Engine& engine = impl_->engine;
  if (!engine.graph().has_variable(name) && engine.store()->contains(name)) {
    return engine.store()->tensor(name).clone();
  }
  const VariableInfo& info = engine.graph().find_variable(name).info();
  impl_->ranks.check_not_partitioned(info.name);
  if (info.kind == VariableKind::cache && !engine.own().contains(info.name)) {
    throw StateError(
        fmt::format("cache '{}' {} has no value before its first use", info.name, info.type.str()));
  }
  return engine.value(info.name).clone();
}

void Session::set_value(std::string_view name, const Tensor& value) {
  const Busy busy(impl_->busy);
  Engine& engine = impl_->engine;
  const VariableInfo& info = engine.graph().find_variable(name).info();
  if (!value.defined()) {
    throw ArgumentError(fmt::format("variable '{}' was given an undefined tensor", name));
  }
  impl_->ranks.check_not_partitioned(info.name);
  engine.initialise({info});
  VariableStore& home = engine.home(info);
  if (info.kind == VariableKind::cache && !home.contains(info.name)) {
    if (value.dtype() != info.type.dtype || value.rank() != info.type.shape.rank()) {
      throw ShapeError(fmt::format("cache '{}' is {}, but the new value is {}", info.name,
                                   info.type.str(), value.type_str()));
    }
    home.insert(info.name, info.kind, value.clone());
    return;
  }
  home.set(info.name, value.clone());
}

void Session::initialise() {
  const Busy busy(impl_->busy);
  std::vector<VariableInfo> variables;
  for (const Variable& v : impl_->engine.graph().variables()) {
    // With several ranks, each rank holds only its part of the optimizer state after the first
    // step.
    const bool later = impl_->has_ranks() && v.info().kind == VariableKind::optimizer;
    if (!later) variables.push_back(v.info());
  }
  impl_->engine.initialise(variables);
}

void Session::gather_state(Gather to) {
  const Busy busy(impl_->busy);
  impl_->ranks.gather_state(to);
  impl_->ranks.initialise();
}

const OwnedState& Session::owned_state() {
  const Busy busy(impl_->busy);
  impl_->ranks.initialise();
  return impl_->ranks.owned_state();
}

void Session::reset_caches() {
  const Busy busy(impl_->busy);
  impl_->engine.own().erase(VariableKind::cache);
}

Graph& Session::graph() const { return impl_->engine.graph(); }
const std::shared_ptr<VariableStore>& Session::store() const { return impl_->engine.store(); }
const SessionOptions& Session::options() const { return impl_->engine.options(); }
std::int64_t Session::compile_count() const { return impl_->engine.plans().compile_count(); }
std::int64_t Session::specialise_count() const { return impl_->engine.plans().specialise_count(); }
std::size_t Session::own_bytes() const { return impl_->engine.own().bytes(); }
std::size_t Session::sum_bytes() const { return impl_->ranks.sum_bytes(); }
std::size_t Session::arena_bytes() const { return impl_->engine.executor().arena_bytes(); }
void Session::set_profiling(bool on) { impl_->engine.set_profiling(on); }
const Profile& Session::profile() const { return impl_->engine.profile(); }
void Session::clear_profile() { impl_->engine.profile().clear(); }
Workers::Statistics Session::worker_statistics() const {
  return impl_->engine.executor().workers().statistics();
}

}  // namespace weft
