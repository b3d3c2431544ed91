// Sharded checkpoints, which all ranks write together. They equal the checkpoint that one process
// writes, a failed save keeps the previous checkpoint, and inconsistent files are errors.
#include "weft/serialization/sharded_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/core/world/forwarding_transport.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/functions.h"
#include "weft/serialization/container.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/environment.h"
#include "weft/tests/support/messages.h"
#include "weft_proto/weft.pb.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::check_error;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

// A network with a matrix that spans two and a third blocks and whose state is partitioned across
// ranks, a vector, and a table without rows.
struct TrainingFixture {
  Graph g;
  std::vector<Program> programs;
  std::unique_ptr<Session> session;

  explicit TrainingFixture(const World& world) {
    const Value x = g.input("x", DType::f32, {"batch", 300});
    const Variable w =
        g.variable("net.w", DType::f32, {300, 510}, {.initializer = Initializer::normal(0, 0.1)});
    const Variable b = g.variable("net.b", DType::f32, {510});
    g.variable("net.none", DType::f32, {0, 4}, {.trainable = false});
    const Value kept = dropout(tanh(matmul(x, w) + b), 0.1, g.key("dropout"));
    const Value loss = shard_mean(mean(square(kept - 0.3)));
    Program train("train");
    train.output("loss", loss).output("none", sum(g.find_variable("net.none").value()));
    train.shards({.count = 4}).update(adamw(loss, {w, b}, {.lr = 0.01}));
    Program predict("predict");
    predict.output("y", matmul(x, w) + b);
    programs = {train, predict};
    session = std::make_unique<Session>(g, SessionOptions{.seed = 3, .threads = 1, .world = world});
  }
  // Continues training from a file.
  TrainingFixture(const World& world, const Checkpoint& file) : graph_(file.shared_graph()) {
    programs = file.programs();
    session = std::make_unique<Session>(*graph_, file.store(),
                                        SessionOptions{.seed = 9, .threads = 1, .world = world});
  }
  void steps(int begin, int end) const {
    for (int step = begin; step < end; ++step) {
      session->run(programs[0],
                   {{"x", uniform_tensor({8, 300}, static_cast<std::uint64_t>(step), -1, 1)}});
    }
  }
  static SaveOptions more() { return {.attachments = {{"notes", "text/plain", "some"}}}; }
  void save(const std::string& path) const {
    save_checkpoint_in_shards(path, *session, programs, more());
  }

 private:
  std::shared_ptr<Graph> graph_;
};

// Returns the names of the files in a folder.
std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

std::set<std::string> names_of(const std::string& save, int shards) {
  std::set<std::string> names = {"net.weft"};
  for (int i = 1; i <= shards; ++i)
    names.insert(fmt::format("{}-{:05}-of-{:05}.weft", save, i, shards));
  return names;
}

// Loads a checkpoint in one process, saves it again as one file, and returns the bytes of that
// file.
std::string merged(const std::string& path, bool verify = true) {
  const Checkpoint file = load_checkpoint(path, {.verify = verify});
  const TemporaryFolder folder;
  save_checkpoint(folder / "one.weft", *file.store(), file.programs(),
                  {.attachments = file.attachments()});
  return read_file(folder / "one.weft");
}

// Returns the bytes of the file that one process writes after the given number of steps.
std::string saved_by_one_process(int steps) {
  const TemporaryFolder folder;
  const TrainingFixture training{World()};
  training.steps(0, steps);
  save_checkpoint(folder / "one.weft", *training.session, training.programs,
                  TrainingFixture::more());
  return read_file(folder / "one.weft");
}

// Runs all ranks and returns their errors by rank. An empty string means success.
std::vector<std::string> run_ranks(
    ThreadWorld& world, const std::function<void(const std::shared_ptr<Transport>&)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(world.size()));
  world.run([&](const std::shared_ptr<Transport>& end) {
    try {
      body(end);
    } catch (const Error& e) {
      errors[static_cast<std::size_t>(end->rank())] = e.what();
    }
  });
  return errors;
}

void save_with(int ranks, const std::string& path, int steps) {
  ThreadWorld world(ranks);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const TrainingFixture training{World(end)};
    training.steps(0, steps);
    training.save(path);
  });
}

BOOST_AUTO_TEST_SUITE(sharded_checkpoint)

BOOST_AUTO_TEST_CASE(a_sharded_save_equals_a_save_by_one_process) {
  const TemporaryFolder folder;
  const std::string path = folder / "net.weft";
  for (const int steps : {0, 2}) {  // the first step partitions the state
    const std::string expected = saved_by_one_process(steps);
    for (const int ranks : {1, 2, 3}) {
      BOOST_TEST_CONTEXT(steps << " steps on " << ranks << " ranks") {
        save_with(ranks, path, steps);
        BOOST_TEST((merged(path) == expected));
        if (ranks == 1) BOOST_TEST((read_file(path) == expected));
        std::uint64_t bytes = 0;
        for (const std::string& name : names_in(folder.path("")))
          bytes += fs::file_size(folder / name);
        BOOST_TEST(checkpoint_bytes(path) == bytes);
        BOOST_TEST(names_in(folder.path("")).size() == (ranks == 1 ? 1u : 1u + ranks));
        verify_file(path);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_rank_writes_a_similar_number_of_bytes) {
  const TemporaryFolder folder;
  save_with(3, folder / "net.weft", 1);
  const double whole = static_cast<double>(checkpoint_bytes(folder / "net.weft"));
  BOOST_TEST((names_in(folder.path("")) == names_of("net-1", 3)));
  for (int i = 1; i <= 3; ++i) {
    const double part =
        static_cast<double>(fs::file_size(folder / fmt::format("net-1-{:05}-of-00003.weft", i)));
    BOOST_TEST(part > 0.2 * whole);
    BOOST_TEST(part < 0.5 * whole);
    const Container shard(folder / fmt::format("net-1-{:05}-of-00003.weft", i));
    BOOST_TEST(shard.mark().bytes == static_cast<std::uint64_t>(part));
    shard.check_data();
  }
}

BOOST_AUTO_TEST_CASE(shards_inherit_the_permissions_of_the_previous_checkpoint) {
  const TemporaryFolder folder;
  save_with(2, folder / "net.weft", 0);
  fs::permissions(folder / "net.weft", fs::perms::owner_read | fs::perms::owner_write);
  save_with(2, folder / "net.weft", 0);
  for (const std::string& name : names_in(folder.path(""))) {
    BOOST_TEST((fs::status(folder / name).permissions() ==
                (fs::perms::owner_read | fs::perms::owner_write)),
               name);
  }
}

BOOST_AUTO_TEST_CASE(a_run_can_be_resumed_with_another_number_of_ranks) {
  const std::string expected = saved_by_one_process(4);
  for (const auto& [before, after] : {std::pair{3, 2}, {2, 3}, {3, 1}, {1, 2}}) {
    BOOST_TEST_CONTEXT(before << " ranks, then " << after) {
      const TemporaryFolder folder;
      const std::string path = folder / "net.weft";
      save_with(before, path, 2);
      ThreadWorld world(after);
      world.run([&](const std::shared_ptr<Transport>& end) {
        const TrainingFixture training(World(end), load_checkpoint(path));
        World(end).barrier();
        training.steps(2, 4);
        training.save(path);
      });
      BOOST_TEST((merged(path) == expected));
      if (after == 1) BOOST_TEST((read_file(path) == expected));
      BOOST_TEST(names_in(folder.path("")).size() == (after == 1 ? 1u : 1u + after));
    }
  }
}

BOOST_AUTO_TEST_CASE(gathered_state_is_saved_correctly) {
  const std::string expected = saved_by_one_process(2);
  for (const Gather to : {Gather::all, Gather::first}) {
    const TemporaryFolder folder;
    ThreadWorld world(3);
    world.run([&](const std::shared_ptr<Transport>& end) {
      const TrainingFixture training{World(end)};
      training.steps(0, 2);
      training.session->gather_state(to);
      training.save(folder / "net.weft");
    });
    BOOST_TEST((merged(folder / "net.weft") == expected));
  }
}

BOOST_AUTO_TEST_CASE(all_readers_of_checkpoints_support_shards) {
  const TemporaryFolder folder;
  const std::string path = folder / "net.weft";
  save_with(2, path, 1);
  write_file(folder / "one.weft", saved_by_one_process(1));
  const std::vector<SavedVariable> found = saved_variables(path),
                                   expected = saved_variables(folder / "one.weft");
  BOOST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    BOOST_TEST(found[i].name == expected[i].name);
    BOOST_TEST(bitwise_equal(found[i].value, expected[i].value));
  }
  extract_checkpoint(path, folder / "small", {"predict"}, {"notes"});
  extract_checkpoint(folder / "one.weft", folder / "small of one", {"predict"}, {"notes"});
  BOOST_TEST((read_file(folder / "small") == read_file(folder / "small of one")));
  const Checkpoint copied = load_checkpoint(path, {.mode = LoadOptions::Mode::copy});
  BOOST_TEST(bitwise_equal(copied.tensors().at("net.w"), expected.front().value));
  // Load through a link from another folder, and under another name.
  fs::create_directory(folder / "links");
  fs::create_symlink(path, folder / "links/best");
  BOOST_TEST((merged(folder / "links/best") == saved_by_one_process(1)));
  fs::rename(path, folder / "other");
  BOOST_TEST((merged(folder / "other") == saved_by_one_process(1)));
}

// A transport endpoint that is killed at its n-th send or receive.
class DyingTransport : public ForwardingTransport {
 public:
  DyingTransport(std::shared_ptr<Transport> end, ThreadWorld& world, int messages)
      : ForwardingTransport(std::move(end)), world_(world), messages_left_(messages) {}
  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    count();
    return ForwardingTransport::send(to, channel, bytes);
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    count();
    return ForwardingTransport::receive(from, channel, bytes);
  }
  /// Starts counting messages.
  void begin() { counting_ = true; }

 private:
  void count() {
    if (counting_ && messages_left_-- == 0) world_.kill(rank());
  }
  ThreadWorld& world_;
  int messages_left_;
  bool counting_ = false;
};

BOOST_AUTO_TEST_CASE(losing_a_rank_at_any_time_leaves_either_the_old_or_the_new_checkpoint) {
  const std::string before = saved_by_one_process(1), after = saved_by_one_process(2);
  for (const int ranks : {2, 3}) {
    for (int bad = 0; bad < ranks; ++bad) {
      bool failed = true;
      int olds = 0, moments = 0;
      for (; failed; ++moments) {
        const TemporaryFolder folder;
        const std::string path = folder / "net.weft";
        save_with(ranks, path, 1);
        ThreadWorld world(ranks);
        const auto errors = run_ranks(world, [&](const std::shared_ptr<Transport>& end) {
          const bool dies = end->rank() == bad;
          const auto dying_transport =
              std::make_shared<DyingTransport>(end, world, dies ? moments : 1 << 30);
          const TrainingFixture training{World(dying_transport)};
          training.steps(0, 2);
          dying_transport->begin();
          training.save(path);
        });
        failed = std::any_of(errors.begin(), errors.end(),
                             [](const std::string& error) { return !error.empty(); });
        const std::string found = merged(path);
        BOOST_TEST((found == before || found == after),
                   "rank " << bad << " of " << ranks << " dies at message " << moments);
        olds += found == before ? 1 : 0;
        if (!failed) BOOST_TEST((found == after));
        // The next save removes the files left by a failed save.
        save_with(ranks, path, 1);
        BOOST_TEST((merged(path) == before));
        BOOST_TEST(names_in(folder.path("")).size() == 1u + ranks);
      }
      BOOST_TEST(moments >= 3);
      BOOST_TEST(olds >= 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_error_on_one_rank_aborts_the_save_on_all_ranks) {
  const TemporaryFolder folder;
  const std::string path = folder / "net.weft";
  save_with(3, path, 1);
  ThreadWorld world(3);
  const auto errors = run_ranks(world, [&](const std::shared_ptr<Transport>& end) {
    const TrainingFixture training{World(end)};
    training.steps(0, 2);
    if (end->rank() == 2) StoreAccess(*training.session->store()).tear();
    training.save(path);
  });
  BOOST_TEST(errors[2].find("cannot be saved") != std::string::npos, errors[2]);
  for (const std::size_t rank : {0u, 1u})
    BOOST_TEST(errors[rank] == "rank 2 (host thread-2): " + errors[2]);
  BOOST_TEST((merged(path) == saved_by_one_process(1)));
}

BOOST_AUTO_TEST_CASE(shards_are_never_overwritten_and_unreferenced_ones_are_removed) {
  const TemporaryFolder folder;
  const std::string path = folder / "net.weft";
  const auto names = [&] { return names_in(folder.path("")); };
  save_with(2, path, 1);
  BOOST_TEST((names() == names_of("net-1", 2)));
  // Shards are kept as long as another file name refers to them.
  fs::create_hard_link(path, folder / "net.1.weft");
  save_with(3, path, 2);
  BOOST_TEST(names().size() == 4u + 3u);
  BOOST_TEST((merged(path) == saved_by_one_process(2)));
  BOOST_TEST((merged(folder / "net.1.weft") == saved_by_one_process(1)));
  // Other files are kept: shards of another checkpoint, files that are not shards, and files whose
  // names only resemble shard names.
  std::vector<std::string> others = {
      "net-2-00001-of-00003.txt",  "net-2-1-of-3.weft", "other-1-00001-of-00002.weft",
      "net-x-00001-of-00001.weft", "net.weft.tmp",      "empty"};
  for (const std::string& name : others) write_file(folder / name, "");
  // A complete model and an unreadable file are also kept, although they are named like shards.
  others.insert(others.end(), {"net-4-00001-of-00001.weft", "net-5-00001-of-00001.weft"});
  write_file(folder / others[6], saved_by_one_process(1));
  write_file(folder / others[7], "something");
  // The temporary shard of a killed process is removed.
  write_file(folder / "net-9-00001-of-00002.weft.tmp-123-0", "half");
  save_with(3, path, 1);
  BOOST_TEST(!fs::exists(folder / "net-9-00001-of-00002.weft.tmp-123-0"));
  BOOST_TEST((merged(folder / "net.1.weft") == saved_by_one_process(1)));
  fs::remove(folder / "net.1.weft");
  save_with(2, path, 1);
  std::set<std::string> expected_names = names_of("net-11", 2);
  expected_names.insert(others.begin(), others.end());
  BOOST_TEST((names() == expected_names), "other files: " << names().size());
  // A single file replaces the shards.
  save_with(1, path, 1);
  for (const std::string& name : others) BOOST_TEST(fs::remove(folder / name), name);
  BOOST_TEST((names() == std::set<std::string>{"net.weft"}));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_cannot_have_the_name_of_a_shard) {
  const TemporaryFolder folder;
  ThreadWorld world(2);
  const auto errors = run_ranks(world, [&](const std::shared_ptr<Transport>& end) {
    const TrainingFixture training{World(end)};
    training.save(folder / "net-1-00001-of-00002.weft");
  });
  for (const std::string& error : errors)
    BOOST_TEST(error.ends_with(
                   "cannot be a sharded checkpoint, because its name has the form of a shard name"),
               error);
  BOOST_TEST(names_in(folder.path("")).empty());
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_shared_by_all_ranks_is_detected) {
  const TemporaryFolder one, other;
  const auto share_folder = [](int ranks, const std::function<std::string(int)>& path) {
    std::vector<char> shared(static_cast<std::size_t>(ranks), 2);
    ThreadWorld world(ranks);
    world.run([&](const std::shared_ptr<Transport>& end) {
      shared[static_cast<std::size_t>(end->rank())] =
          ranks_share_folder(path(end->rank()), World(end)) ? 1 : 0;
    });
    BOOST_TEST(std::count(shared.begin(), shared.end(), shared[0]) == ranks);
    return shared[0] == 1;
  };
  BOOST_TEST(share_folder(3, [&](int) { return one / "net.weft"; }));
  BOOST_TEST(!share_folder(3, [&](int rank) { return (rank == 2 ? other : one) / "net.weft"; }));
  BOOST_TEST(!share_folder(2, [&](int rank) { return (rank == 0 ? other : one) / "net.weft"; }));
  BOOST_TEST(!share_folder(2, [&](int) { return one / "none/net.weft"; }));
  BOOST_TEST(ranks_share_folder("/none/net.weft", World()));
  BOOST_TEST(names_in(one.path("")).empty());
  BOOST_TEST(names_in(other.path("")).empty());
  // Even without this check, a checkpoint that rank 0 cannot read is not committed.
  ThreadWorld world(2);
  const auto errors = run_ranks(world, [&](const std::shared_ptr<Transport>& end) {
    const TrainingFixture training{World(end)};
    training.save((end->rank() == 0 ? one : other) / "net.weft");
  });
  BOOST_TEST(errors[0].find("net-1-00002-of-00002.weft\", which rank 1 (host thread-1) wrote, "
                            "cannot be read by rank 0") != std::string::npos,
             errors[0]);
  BOOST_TEST(!fs::exists(one / "net.weft"));
}

// Copies the main file of a checkpoint with modified shard and variable records.
void rewrite(const std::string& from, const std::string& to,
             const std::function<void(v1::Shards&)>& change_shards,
             const std::function<void(v1::Variables&)>& change_variables) {
  const Container file(from);
  ContainerWriter writer(to);
  for (const Record& record : file.records()) {
    std::string bytes(reinterpret_cast<const char*>(file.payload(record)), record.length);
    const auto apply = [&](auto message, const auto& change) {
      BOOST_REQUIRE(message.ParseFromString(bytes));
      if (change) change(message);
      bytes = message.SerializeAsString();
    };
    if (record.is(RecordType::shards)) apply(v1::Shards(), change_shards);
    if (record.is(RecordType::variables)) apply(v1::Variables(), change_variables);
    writer.add(static_cast<RecordType>(record.type), bytes);
  }
  writer.finish();
}

BOOST_AUTO_TEST_CASE(errors_name_inconsistent_shards) {
  const TemporaryFolder folder;
  const std::string path = folder / "net.weft", bad = folder / "bad";
  save_with(3, path, 1);
  const std::string second = folder / "net-1-00002-of-00003.weft";
  const std::string good = read_file(second);

  fs::remove(second);
  check_error<IoError>([&] { load_checkpoint(path); },
                       {path, "consists of 3 shards in the same folder", second});
  write_file(second, good.substr(0, good.size() / 2));
  check_error<FormatError>([&] { load_checkpoint(path); }, {second, "at byte"});
  write_file(second, read_file(folder / "net-1-00003-of-00003.weft"));
  check_error<FormatError>([&] { load_checkpoint(path); },
                           {path, "the shard net-1-00002-of-00003.weft has", "another save"});
  std::string flipped = good;
  flipped[good.size() / 3] = static_cast<char>(flipped[good.size() / 3] ^ 1);
  write_file(second, flipped);
  check_error<FormatError>([&] { load_checkpoint(path, {.verify = true}); },
                           {second, "the checksum of"});
  check_error<FormatError>([&] { verify_file(path); }, {second, "at byte"});
  write_file(second, good);
  check_error<FormatError>([&] { load_checkpoint(second); },
                           {second, "this is a shard of a checkpoint"});
  merged(path);

  const auto check_rejected = [&](const std::function<void(v1::Shards&)>& shards,
                                  const std::function<void(v1::Variables&)>& variables,
                                  const std::string& what) {
    rewrite(path, bad, shards, variables);
    check_error<FormatError>([&] { load_checkpoint(bad); }, {bad, "at byte", what});
    check_error<FormatError>([&] { saved_variables(bad); }, {bad, what});
  };
  const std::vector<std::string> wrong = {"", "../net-1", "a/b", std::string("a\0b", 3),
                                          std::string(300, 'x')};
  for (const std::string& name : wrong)
    check_rejected([&](v1::Shards& s) { s.set_name(name); }, {}, "is not a valid name for shards");
  check_rejected([](v1::Shards& s) { s.clear_shards(); }, {}, "0 shards");
  check_rejected([](v1::Shards& s) { s.mutable_shards(1)->set_bytes(1); }, {}, "another save");
  check_rejected([](v1::Shards& s) { s.mutable_shards(1)->set_crc(1); }, {}, "another save");
  const auto variable = [](v1::Variables& all, const std::string& name) -> v1::Variable& {
    return *std::find_if(all.mutable_variables()->begin(), all.mutable_variables()->end(),
                         [&](const v1::Variable& v) { return v.name() == name; });
  };
  const std::string moment = "optimizer.net.w.m";
  const auto changes = [&](const std::function<void(v1::Variable&)>& change,
                           const std::string& what) {
    check_rejected(
        {}, [&](v1::Variables& all) { change(variable(all, moment)); },
        "variable '" + moment + "' " + what);
  };
  changes([](v1::Variable& v) { v.mutable_pieces(0)->set_shard(0); },
          "is in shard 0, but the number of shards is 3");
  changes([](v1::Variable& v) { v.mutable_pieces(0)->set_shard(4); },
          "is in shard 4, but the number of shards is 3");
  changes([](v1::Variable& v) { v.mutable_pieces(0)->set_data(0); },
          "is in data record 0 of shard 1");
  changes([](v1::Variable& v) { v.mutable_pieces(0)->set_data(99); },
          "is in data record 99 of shard 1");
  changes([](v1::Variable& v) { *v.mutable_pieces(1) = v.pieces(0); },
          "has a piece that is already in use");
  changes([](v1::Variable& v) { v.mutable_pieces()->RemoveLast(); },
          "is f32[300, 510], which needs 612000 bytes, but its pieces have 524288");
  changes([](v1::Variable& v) { v.set_data(1); },
          "has both a data record in this file and pieces in shards");
  changes([](v1::Variable& v) { v.clear_pieces(); }, "is in data record 0");
  // A single file, which has no shards, contains a variable that is stored in pieces.
  write_file(folder / "one.weft", saved_by_one_process(1));
  rewrite(folder / "one.weft", bad, {}, [&](v1::Variables& all) {
    variable(all, moment).set_data(0);
    variable(all, moment).add_pieces()->set_shard(1);
  });
  check_error<FormatError>([&] { load_checkpoint(bad); },
                           {bad, "is in shard 1, but the number of shards is 0"});
}

BOOST_AUTO_TEST_CASE(all_shards_are_verified_once) {
  const TemporaryFolder folder, cache;
  const testing::Environment environment("XDG_CACHE_HOME", cache.path());
  const std::string path = folder / "net.weft", shard = folder / "net-1-00002-of-00002.weft";
  save_with(2, path, 1);
  const LoadOptions once{.verify = true, .once = true};
  const auto age = [&](const std::string& file) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  };
  for (const std::string& name : names_in(folder.path())) age(folder / name);
  BOOST_TEST(load_checkpoint(path, once).is_finite());
  BOOST_TEST(load_checkpoint(path, once).is_finite());
  const auto time = fs::last_write_time(shard);
  std::string bytes = read_file(shard);
  bytes[bytes.size() / 2] ^= 1;
  write_file(shard, bytes);
  fs::last_write_time(shard, time);
  BOOST_TEST(load_checkpoint(path, once).is_finite());
  check_error<FormatError>([&] { load_checkpoint(path, {.verify = true}); }, {"is damaged"});
  check_error<FormatError>([&] { load_checkpoint(path, once); }, {"is damaged"});
  bytes[bytes.size() / 2] ^= 1;
  write_file(shard, bytes);
  age(shard);
  BOOST_TEST(load_checkpoint(path, once).is_finite());
  // A change of any shard causes another pass over all files.
  bytes[bytes.size() / 2] ^= 1;
  write_file(shard, bytes);
  fs::last_write_time(shard, time);
  age(folder / "net-1-00001-of-00002.weft");
  check_error<FormatError>([&] { load_checkpoint(path, once); }, {shard, "is damaged"});
}

BOOST_AUTO_TEST_CASE(numbers_of_two_dtypes_in_one_record_are_not_known_to_be_finite) {
  const TemporaryFolder folder;
  const std::string path = folder / "net.weft", shared = folder / "shared.weft";
  Graph g;
  const Variable floats = g.variable("floats", DType::f32, {1000});
  const Variable doubles = g.variable("doubles", DType::f64, {500});
  Tensor values = Tensor::full(DType::f32, {1000}, 1.5);
  values.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  write_checkpoint(
      path, {Program("p").output("floats", floats.value()).output("doubles", doubles.value())},
      [&](const VariableInfo& info) {
        return info.name == "floats" ? values : Tensor::zeros(DType::f64, {500});
      });
  // As half of a double, the NaN is a finite number.
  rewrite(path, shared, {}, [](v1::Variables& all) {
    BOOST_REQUIRE(all.variables(1).name() == "doubles");
    all.mutable_variables(1)->set_data(all.variables(0).data());
  });
  BOOST_TEST(!load_checkpoint(path, {.verify = true}).is_finite());
  BOOST_TEST(!load_checkpoint(shared, {.verify = true}).is_finite());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
