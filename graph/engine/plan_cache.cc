#include "weft/graph/engine/plan_cache.h"

#include "weft/graph/plan/specialise.h"
#include "weft/graph/plan/verify.h"

namespace weft {
namespace {

// Far more programs than an application needs. Limits the size of the cache if programs are rebuilt
// for every run.
constexpr std::size_t kMaxPrograms = 64;

}  // namespace

PlanCache::ProgramKey PlanCache::key_of(const Program& program,
                                        const std::vector<std::string>& fetch,
                                        const std::vector<std::string>& streamed) {
  ProgramKey key;
  const auto add = [&](Value v) {
    key.words.push_back(reinterpret_cast<std::uint64_t>(v.node_pointer()));
    key.words.push_back(static_cast<std::uint64_t>(v.output()));
  };
  const auto add_name = [&](std::string_view name) {
    key.words.push_back(name.size());
    key.names += name;
  };
  key.words.push_back(program.precision() ? static_cast<std::uint64_t>(*program.precision()) : 0);
  key.words.push_back(program.is_batch_invariant() ? 1 : 0);
  add_name(program.name());
  key.words.push_back(program.outputs().size());
  for (const auto& [name, value] : program.outputs()) {
    add_name(name);
    add(value);
  }
  key.words.push_back(program.given_updates().size());
  for (const auto& [variable, value] : program.given_updates()) {
    add(variable.value());
    add(value);
  }
  for (const auto* names : {&fetch, &streamed}) {
    key.words.push_back(names->size());
    for (const std::string& name : *names) add_name(name);
  }
  // Requirements that were added after compilation must be checked too, so the program is compiled
  // again.
  if (program.graph() != nullptr) key.words.push_back(program.graph()->requirements().size());
  return key;
}

std::shared_ptr<const CompiledProgram> PlanCache::compiled(
    const Program& program, const std::vector<std::string>& fetch,
    const std::vector<std::string>& streamed) {
  ProgramKey key = key_of(program, fetch, streamed);
  for (auto it = programs_.begin(); it != programs_.end(); ++it) {
    if (it->key == key) {
      programs_.splice(programs_.begin(), programs_, it);
      return it->program;
    }
  }
  // With a memory budget, activations may be rematerialised. This is cheap if they are separate
  // elementwise steps and expensive if they are the epilogue of a matrix product.
  CompileOptions options{
      .passes = options_.passes, .precision = options_.precision, .streamed = streamed};
  if (options_.memory_budget > 0) options.disabled = {"epilogue"};
  // Without these fusions, every step corresponds to one node that the user built.
  if (options_.check_finite) options.disabled = {"fuse_linear_cross_entropy", "fuse", "epilogue"};
  auto made = compile(program, fetch, options);
  ++compile_count_;
  programs_.push_front({std::move(key), program.graph(), made});
  if (programs_.size() > kMaxPrograms) {
    const auto gone = programs_.back().program;
    plans_.remove_if([&](const PlanEntry& e) { return e.plan->program == gone; });
    programs_.pop_back();
  }
  return made;
}

void PlanCache::forget(const Graph& graph) {
  for (auto it = programs_.begin(); it != programs_.end();) {
    if (it->graph != &graph) {
      ++it;
      continue;
    }
    plans_.remove_if([&](const PlanEntry& e) { return e.plan->program == it->program; });
    it = programs_.erase(it);
  }
}

std::shared_ptr<const Plan> PlanCache::plan(const std::shared_ptr<const CompiledProgram>& program,
                                            const Bindings& bindings) {
  std::vector<std::int64_t> sizes;
  for (const SymbolPtr& s : program->module.graph->symbols()) {
    sizes.push_back(bindings.find(*s).value_or(-1));
  }
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (it->plan->program == program && it->sizes == sizes) {
      plans_.splice(plans_.begin(), plans_, it);
      return it->plan;
    }
  }
  auto made = specialise(program, bindings,
                         {.guard = options_.guard,
                          .precision = options_.precision,
                          .batch_invariant = options_.batch_invariant,
                          .memory_budget = options_.memory_budget,
                          .prepack = options_.prepack,
                          .updates_last = options_.check_finite});
  if (options_.verify) verify(*made);
  ++specialise_count_;
  plans_.push_front({std::move(sizes), made});
  while (plans_.size() > static_cast<std::size_t>(options_.plans)) plans_.pop_back();
  return made;
}

}  // namespace weft
