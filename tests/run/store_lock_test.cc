// Locks on the store during a run. They are tested from within the run, so that tests neither wait
// nor depend on timing.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <shared_mutex>
#include <thread>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/engine_ops.h"

namespace weft {
namespace {

// A store with programs that call `inside` while they run.
struct Watched {
  Graph graph{testing::engine_ops()};
  Value visitor = graph.input("visitor", DType::i64, {});
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  std::shared_mutex& mutex = *StoreAccess(*store).read_lock().mutex();
  std::function<void()> inside;

  Value visit(const Value& x) { return graph.apply("t_visit", {x, visitor}).output(0); }
  Results run(Session& session, const Program& program, const RunOptions& options = {}) {
    const auto address = reinterpret_cast<std::int64_t>(&inside);
    return session.run(program, {{"visitor", Tensor::of<std::int64_t>({}, {address})}}, options);
  }
  // Return whether another thread may perform these operations on the store at this moment.
  bool may_read() {
    return elsewhere([&] {
      const std::shared_lock lock(mutex, std::try_to_lock);
      return lock.owns_lock();
    });
  }
  bool may_write() {
    return elsewhere([&] {
      const std::unique_lock lock(mutex, std::try_to_lock);
      return lock.owns_lock();
    });
  }

 private:
  static bool elsewhere(const std::function<bool()>& look) {
    bool result = false;
    std::thread([&] { result = look(); }).join();
    return result;
  }
};

BOOST_AUTO_TEST_SUITE(store_locks)

BOOST_AUTO_TEST_CASE(a_store_cannot_be_read_between_the_updates_of_a_run) {
  for (const VariableKind kind : {VariableKind::parameter, VariableKind::optimizer,
                                  VariableKind::buffer, VariableKind::key}) {
    BOOST_TEST_CONTEXT(variable_kind_name(kind)) {
      Watched w;
      const bool key = kind == VariableKind::key;
      const ValueType type{key ? DType::i64 : DType::f32, Shape{2}};
      const VariableOptions options{
          .kind = kind, .initializer = key ? Initializer{Initializer::Kind::key} : Initializer{}};
      const Variable first = w.graph.variable("first", type, options);
      const Variable second = w.graph.variable("second", type, options);
      // `inside` is called before the first update is written, and again between the two updates.
      const Value before = w.visit(second.value());
      const Value after = w.visit(first.value() + before);
      const Program update = Program("update").update(first, after).update(second, after + 1);
      Session session(w.graph, w.store, {.threads = 1});
      session.initialise();
      int visits = 0, asked = 0;
      w.inside = [&] {
        ++visits;
        BOOST_TEST(!w.may_read());
        BOOST_TEST(!w.may_write());
      };
      w.run(session, update, {.cancel = [&] {
              ++asked;
              BOOST_TEST(!w.may_read());
              return false;
            }});
      BOOST_TEST(visits == 2);
      BOOST_TEST(asked > 0);
      BOOST_TEST(w.may_write());
      // A failing run also releases the lock.
      w.inside = [] { throw DataError("enough"); };
      BOOST_CHECK_THROW(w.run(session, update), DataError);
      BOOST_TEST(w.may_write());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_store_can_be_written_while_a_run_reads_it) {
  Watched w;
  const Variable a =
      w.graph.variable("a", DType::f32, {64}, {.initializer = Initializer::constant(1)});
  const Variable cache = w.graph.variable("cache", DType::f32, {64}, {.kind = VariableKind::cache});
  const Value seen = w.visit(cache.value() + a.value());
  // Both programs only read shared variables, because caches belong to the Session.
  for (const Program& program :
       {Program("read").output("sum", seen + a.value()),
        Program("decode").output("sum", seen + a.value()).update(cache, seen)}) {
    BOOST_TEST_CONTEXT(program.name()) {
      Session session(w.graph, w.store, {.threads = 1});
      session.run(Program("start").output("a", a.value()));
      w.store->set("a", Tensor::full(DType::f32, {64}, 1));
      bool visited = false;
      w.inside = [&] {
        visited = true;
        BOOST_REQUIRE(w.may_write());
        std::thread([&] { w.store->set("a", Tensor::full(DType::f32, {64}, 5)); }).join();
      };
      // The run continues with the values that the variables had at its start.
      BOOST_TEST(w.run(session, program)["sum"].at(63) == 2);
      BOOST_TEST(visited);
      BOOST_TEST(w.store->tensor("a").at(63) == 5);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
