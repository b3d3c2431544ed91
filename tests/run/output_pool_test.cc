// The memory of outputs is reused, and the size of the pool is bounded by the outputs of the runs.
#include "weft/graph/engine/output_pool.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(output_pool)

BOOST_AUTO_TEST_CASE(buffers_of_other_sizes_are_released) {
  OutputPool pool;
  for (std::size_t length = 1; length <= 64; ++length) {
    pool.begin_run(length << 12);
    for (std::size_t i = 0; i < 4; ++i) pool.take(length << 10);
    BOOST_TEST(pool.bytes() <= 2 * (length << 12));
  }
  // As the runs become smaller, the pool keeps no more memory than the largest run needed.
  for (std::size_t length = 64; length-- > 1;) {
    pool.begin_run(length << 12);
    for (std::size_t i = 0; i < 4; ++i) pool.take(length << 10);
    BOOST_TEST(pool.bytes() <= 2 * (64u << 12));
  }
}

BOOST_AUTO_TEST_CASE(a_loop_that_holds_the_previous_outputs_does_not_allocate) {
  OutputPool pool;
  std::vector<std::shared_ptr<Buffer>> held;
  std::set<const std::byte*> seen;
  for (int run = 0; run < 20; ++run) {
    std::vector<std::shared_ptr<Buffer>> now;
    pool.begin_run(300 * 64);
    for (int i = 0; i < 100; ++i) now.push_back(pool.take(64));
    for (int i = 0; i < 2; ++i) now.push_back(pool.take(100 * 64));
    for (const auto& buffer : now) seen.insert(buffer->data());
    held = std::move(now);
  }
  BOOST_TEST(seen.size() <= 2u * 102);
}

BOOST_AUTO_TEST_CASE(outputs_that_the_caller_holds_are_not_reused) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  const Program p = Program("p").output("y", x * 2.0);
  Session session(g);
  std::vector<Tensor> kept;
  for (int n = 1; n <= 40; ++n) {
    kept.push_back(session.run(p, {{"x", Tensor::full(DType::f32, {n % 7 + 1}, n)}})["y"]);
  }
  for (int n = 1; n <= 40; ++n) BOOST_TEST(kept[static_cast<std::size_t>(n - 1)].at(0) == 2 * n);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
