#include "count.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <new>

#include "weft/graph/passes/pipeline.h"

namespace {

thread_local std::uint64_t allocated = 0, allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  allocated += bytes;
  ++allocations;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                                   : std::aligned_alloc(alignment, rounded);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// The other forms of operator new call these two, but not in every build: AddressSanitizer defines
// its own version of each form, and memory from its versions must not be freed here. They are
// noinline because g++ reports a mismatch if it inlines only one function of a new/delete pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace weft::scaling {

std::uint64_t allocated_bytes() { return allocated; }

double bytes_of(const std::function<void()>& work) {
  const std::uint64_t before = allocated_bytes();
  work();
  return static_cast<double>(allocated_bytes() - before);
}

double allocations_of(const std::function<void()>& work) {
  const std::uint64_t before = allocations;
  work();
  return static_cast<double>(allocations - before);
}

Counts pass_counts(const Program& program) {
  Counts counts;
  PassOptions options;
  options.report = [&](const PassReport& r) {
    counts["steps of " + std::string(r.pass)] = static_cast<double>(r.steps);
    counts["nodes after passes"] = static_cast<double>(r.nodes);
  };
  Module copy = clone_program(program);
  counts["bytes allocated by passes"] = bytes_of([&] { run_passes(std::move(copy), options); });
  return counts;
}

Counts plan_counts(Graph& graph, const Program& program, const NamedSizes& feeds) {
  Session session(graph, {.threads = 1});
  Counts counts;
  std::shared_ptr<const Plan> plan;
  counts["bytes allocated by planning"] = bytes_of([&] { plan = session.plan(program, feeds); });
  counts["bytes of the arena"] = static_cast<double>(plan->arena_bytes);
  counts["bytes of a worker's scratch"] = static_cast<double>(plan->slot_scratch);
  const CostReport cost = plan->cost();
  counts["bytes moved"] = cost.bytes;
  counts["FLOPs"] = cost.flops;
  return counts;
}

void check_linear(const std::function<Counts(int)>& counts, int size) {
  const Counts one = counts(size), two = counts(2 * size), four = counts(4 * size);
  for (const auto& [name, at_four] : four) {
    const double first = two.at(name) - one.at(name), second = at_four - two.at(name);
    // Tables that double their capacity grow in steps.
    BOOST_TEST(second <= 2.2 * first + 0.15 * two.at(name) + 64,
               name << " of " << size << ", " << 2 * size << ", " << 4 * size << ": "
                    << one.at(name) << ", " << two.at(name) << ", " << at_four);
  }
}

}  // namespace weft::scaling
