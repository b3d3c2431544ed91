// The queue that runs the texts of different requests together.
#include "weft/models/serve/batch_queue.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <future>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(batch_queue)
namespace {

using testing::says_exactly;
using Texts = std::vector<std::string>;
using Request = RequestOf<std::string, std::string>;

/// A queue whose texts are names; their results are the names in brackets. The first request blocks
/// the queue until open() is called, so that all further requests wait together.
class Doors {
 public:
  explicit Doors(const BatchQueueOptions& options) : queue(options) {
    add("door", {{"door", 1}});
    entered_.get_future().wait();
  }
  ~Doors() { open(); }

  /// Texts with their lengths.
  using Named = std::vector<std::pair<std::string, std::int64_t>>;
  std::int64_t add(const std::string& key, const Named& named,
                   std::optional<BatchQueue::Clock::time_point> deadline = {}) {
    std::vector<std::int64_t> lengths;
    Texts texts;
    for (const auto& [text, length] : named) {
      texts.push_back(text);
      lengths.push_back(length);
    }
    auto& end = ends_.emplace_back();
    results.push_back(end.get_future());
    return queue.add(
        std::make_unique<Request>(
            key, lengths, texts, [this](const Request::Inputs& inputs) { return run(inputs); },
            [&end](Texts found, std::exception_ptr error) {
              error != nullptr ? end.set_exception(error) : end.set_value(std::move(found));
            }),
        deadline);
  }
  void open() {
    if (!opened_) open_.set_value();
    opened_ = true;
  }
  /// Returns the results of a request, or the message of its error.
  Texts result(std::size_t request) {
    open();
    try {
      return results.at(request).get();
    } catch (const Error& e) {
      return {std::string("error: ") + e.what()};
    }
  }

  std::vector<Texts> batches;  // after the results
  std::vector<std::future<Texts>> results;

 private:
  Texts run(const Request::Inputs& inputs) {
    Texts batch, found;
    for (const std::string* text : inputs) {
      batch.push_back(*text);
      found.push_back("[" + *text + "]");
    }
    if (batch.front() == "door") {
      entered_.set_value();
      open_.get_future().wait();
      return found;
    }
    batches.push_back(batch);
    if (std::find(batch.begin(), batch.end(), "bad") != batch.end()) throw DataError("a bad text");
    return found;
  }

  std::promise<void> entered_, open_;
  bool opened_ = false;
  std::deque<std::promise<Texts>> ends_;

 public:
  BatchQueue queue;  // the last member: its thread uses the others
};

BOOST_AUTO_TEST_CASE(a_batch_contains_the_texts_of_closest_length_of_all_requests) {
  Doors doors({.batch_tokens = 20});
  doors.add("k", {{"a5", 5}, {"a30", 30}});
  doors.add("k", {{"b9", 9}, {"b6", 6}, {"b4", 4}});
  BOOST_TEST((doors.result(1) == Texts{"[a5]", "[a30]"}));
  BOOST_TEST((doors.result(2) == Texts{"[b9]", "[b6]", "[b4]"}));
  // b9 does not fit beside a5, b4 and b6; a30 is longer than a batch.
  BOOST_TEST((doors.batches == std::vector<Texts>{{"b4", "a5", "b6"}, {"b9"}, {"a30"}}));
  const BatchQueueStatus status = doors.queue.status();
  BOOST_TEST(status.requests == 3);
  BOOST_TEST(status.batches == 4);
  BOOST_TEST(status.tokens == 55);
  BOOST_TEST(status.running + status.waiting + status.failed + status.cancelled == 0);
}

BOOST_AUTO_TEST_CASE(requests_take_turns_however_many_texts_they_contain) {
  Doors doors({.batch_tokens = 10});
  doors.add("k", {{"a", 10}, {"b", 10}, {"c", 10}});
  doors.add("other", {{"d", 1}});
  doors.add("k", {{"e", 2}});
  for (const std::size_t i : {1, 2, 3}) doors.result(i);
  BOOST_TEST((doors.batches == std::vector<Texts>{{"a"}, {"d"}, {"e"}, {"b"}, {"c"}}));
}

BOOST_AUTO_TEST_CASE(requests_with_different_keys_do_not_share_batches) {
  Doors doors({.batch_tokens = 10});
  doors.add("k", {{"a", 2}});
  doors.add("other", {{"b", 2}});
  doors.add("k", {{"c", 2}});
  for (const std::size_t i : {1, 2, 3}) doors.result(i);
  BOOST_TEST((doors.batches == std::vector<Texts>{{"a", "c"}, {"b"}}));
}

BOOST_AUTO_TEST_CASE(an_error_ends_only_its_request) {
  Doors doors({.batch_tokens = 10});
  doors.add("k", {{"a", 2}});
  doors.add("k", {{"bad", 2}, {"long", 10}});
  doors.add("k", {{"c", 2}});
  BOOST_TEST((doors.result(1) == Texts{"[a]"}));
  BOOST_TEST((doors.result(2) == Texts{"error: a bad text"}));
  BOOST_TEST((doors.result(3) == Texts{"[c]"}));
  BOOST_TEST((doors.batches == std::vector<Texts>{{"a", "bad", "c"}, {"a"}, {"bad"}, {"c"}}));
  BOOST_TEST(doors.queue.status().failed == 1);
}

BOOST_AUTO_TEST_CASE(requests_without_texts_have_empty_results) {
  Doors doors({});
  doors.add("k", {});
  BOOST_TEST(doors.result(1).empty());
}

BOOST_AUTO_TEST_CASE(a_full_queue_rejects_requests) {
  Doors doors({.requests = 2});
  doors.add("k", {{"a", 1}});
  BOOST_CHECK_EXCEPTION(
      doors.add("k", {{"b", 1}}), QueueFullError,
      says_exactly("2 requests wait or run, the maximum of the queue: try again later"));
  BOOST_TEST((doors.result(1) == Texts{"[a]"}));
}

BOOST_AUTO_TEST_CASE(cancelled_and_late_requests_end_without_running) {
  Doors doors({.batch_tokens = 2});
  const std::int64_t cancelled = doors.add("k", {{"a", 1}, {"b", 1}});
  doors.add("k", {{"c", 1}}, BatchQueue::Clock::now());
  doors.add("k", {{"d", 1}}, BatchQueue::Clock::now() + std::chrono::hours(1));
  BOOST_TEST(doors.queue.cancel(cancelled));
  BOOST_TEST(!doors.queue.cancel(cancelled));
  BOOST_TEST((doors.result(1) == Texts{"error: the request was cancelled"}));
  BOOST_TEST(
      (doors.result(2) == Texts{"error: the deadline passed when 0 of 1 texts had results"}));
  BOOST_TEST((doors.result(3) == Texts{"[d]"}));
  BOOST_TEST((doors.batches == std::vector<Texts>{{"d"}}));
  BOOST_TEST(doors.queue.status().cancelled == 2);
  BOOST_TEST(!doors.queue.cancel(3));
}

BOOST_AUTO_TEST_CASE(requests_of_many_threads_have_their_own_results) {
  constexpr int kThreads = 4, kRequests = 50;
  BatchQueue queue({.batch_tokens = 16});
  const auto run = [](const Request::Inputs& inputs) {
    Texts found;
    for (const std::string* text : inputs) found.push_back("[" + *text + "]");
    return found;
  };
  std::vector<std::future<int>> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.push_back(std::async(std::launch::async, [&queue, &run, t] {
      int wrong = 0;
      for (int i = 0; i < kRequests; ++i) {
        const std::string name = std::to_string(t) + "." + std::to_string(i);
        std::promise<Texts> end;
        const std::int64_t number = queue.add(std::make_unique<Request>(
            i % 3 == 0 ? "a" : "b", std::vector<std::int64_t>{1 + i % 5, 20},
            Texts{name, name + " long"}, run, [&end](Texts found, std::exception_ptr error) {
              error != nullptr ? end.set_exception(error) : end.set_value(std::move(found));
            }));
        if (i % 7 == 0) queue.cancel(number);
        try {
          const Texts found = end.get_future().get();
          wrong += found == Texts{"[" + name + "]", "[" + name + " long]"} ? 0 : 1;
        } catch (const CancelledError&) {
          wrong += i % 7 == 0 ? 0 : 1;
        }
      }
      return wrong;
    }));
  }
  for (auto& thread : threads) BOOST_TEST(thread.get() == 0);
  BOOST_TEST(queue.status().requests == kThreads * kRequests);
}

BOOST_AUTO_TEST_CASE(the_destructor_ends_all_requests) {
  std::future<Texts> result;
  {
    Doors doors({});
    doors.add("k", {{"a", 1}});
    result = std::move(doors.results[1]);
  }  // opens the door, and the request may still run before the queue stops
  try {
    BOOST_TEST((result.get() == Texts{"[a]"}));
  } catch (const CancelledError& e) {
    BOOST_TEST(std::string(e.what()) == "the server stops");
  }
}

BOOST_AUTO_TEST_CASE(a_queue_needs_room_for_a_token_and_a_request) {
  BOOST_CHECK_EXCEPTION(BatchQueue({.batch_tokens = 0}), ArgumentError,
                        says_exactly("a queue needs at least one token per batch and one request, "
                                     "not 0 and 256"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
