// Ranks on one host exchange data with other hosts as a group. The results are the same as without
// groups, and data is sent between hosts only once.
#include "weft/core/world/levels.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/tensor.h"
#include "weft/core/world/exchange.h"
#include "weft/core/world/forwarding_transport.h"
#include "weft/core/world/thread_world.h"
#include "weft/core/world/tree_sum.h"

namespace weft {
namespace {

// A transport whose ranks have the given host names. It counts the bytes sent between hosts.
class Hosts final : public ForwardingTransport {
 public:
  Hosts(std::shared_ptr<Transport> inner, std::vector<std::string> names,
        std::atomic<std::size_t>& bytes)
      : ForwardingTransport(std::move(inner)), names_(std::move(names)), bytes_(bytes) {}
  std::string host(int rank) const override { return names_[static_cast<std::size_t>(rank)]; }
  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    count(to, bytes.size());
    return ForwardingTransport::send(to, channel, bytes);
  }
  Transfer forward(const Transfer& received, int to, int channel,
                   std::span<const std::byte> bytes) override {
    count(to, bytes.size());
    return ForwardingTransport::forward(received, to, channel, bytes);
  }

 private:
  void count(int to, std::size_t bytes) {
    if (host(to) != host(rank())) bytes_ += bytes;
  }
  const std::vector<std::string> names_;
  std::atomic<std::size_t>& bytes_;
};

using Names = std::vector<std::string>;

std::vector<Names> worlds() {
  return {{"a", "b"},
          {"a", "a"},
          {"a", "a", "b"},
          {"a", "a", "b", "b"},
          {"a", "b", "b", "b", "c"},
          {"a", "a", "a", "b", "b", "b"},
          {"a", "a", "b", "c", "c", "c", "c"},
          // The ranks on one host are not consecutive.
          {"a", "b", "a", "a", "b", "b", "a", "a"}};
}

// Calls body(world) on every rank and returns the number of bytes sent between hosts.
std::size_t run(const Names& names, int max_direct, FunctionRef<void(const World&)> body) {
  std::atomic<std::size_t> bytes{0};
  ThreadWorld world(static_cast<int>(names.size()), {.seed = 7 + names.size()});
  world.run([&](const std::shared_ptr<Transport>& end) {
    body(World(std::make_shared<Hosts>(end, names, bytes), {.max_direct = max_direct}));
  });
  return bytes;
}

BOOST_AUTO_TEST_SUITE(levels)

BOOST_AUTO_TEST_CASE(adjacent_ranks_on_one_host_form_a_group) {
  const Names names{"a", "a", "b", "c", "c", "c", "a"};
  std::atomic<std::size_t> bytes{0};
  ThreadWorld world(7);
  const Hosts end(world.connect(0), names, bytes);
  const Levels levels(end, 6);
  BOOST_TEST(levels.groups() == 4);
  BOOST_TEST((levels.neighbours(1) == RankRun{0, 2}));
  BOOST_TEST((levels.neighbours(5) == RankRun{3, 6}));
  BOOST_TEST((levels.neighbours(6) == RankRun{6, 7}));
  BOOST_TEST(levels.peer_in_group(4, levels.group_of(4)) == 4);
  // The ranks of one group use different ranks of the other group as their peers.
  for (const auto& [rank, other] : {std::pair(3, 0), {4, 1}, {5, 0}, {0, 0}, {1, 1}})
    BOOST_TEST(levels.peer_in_group(rank, 0) == other);
  BOOST_TEST(levels.peer_in_group(4, 1) == 2);
  // With up to 7 direct connections, every rank is its own group.
  const Levels direct(end, 7);
  BOOST_TEST(direct.groups() == 7);
  for (int r = 0; r < 7; ++r) BOOST_TEST((direct.neighbours(r) == RankRun{r, r + 1}));
}

BOOST_AUTO_TEST_CASE(a_thread_world_assigns_hosts) {
  ThreadWorld apart(3), together(5, {.per_host = 2});
  BOOST_TEST(apart.connect(1)->host(2) == "thread-2");
  const World world(together.connect(4), {.max_direct = 1});
  BOOST_TEST(world.levels().groups() == 3);
  BOOST_TEST((world.levels().neighbours(3) == RankRun{2, 4}));
}

BOOST_AUTO_TEST_CASE(gathered_data_is_sent_to_every_host_once) {
  for (const Names& names : worlds()) {
    for (const int max_direct : {1, 100}) {
      std::size_t groups = 0;
      for (std::size_t r = 0; r < names.size(); ++r) groups += r == 0 || names[r] != names[r - 1];
      // Several consecutive gathers of different sizes, one of which is empty.
      constexpr std::size_t kTimes = 3;
      const auto size_of = [](std::size_t rank, std::size_t time) { return 5 * rank * time; };
      const std::size_t moved = run(names, max_direct, [&](const World& world) {
        for (std::size_t time = 0; time < kTimes; ++time) {
          std::vector<std::vector<std::byte>> all;
          Blocks blocks;
          for (std::size_t r = 0; r < names.size(); ++r) all.emplace_back(size_of(r, time));
          for (std::vector<std::byte>& block : all) blocks.emplace_back(block);
          const auto content = [&](std::size_t rank) {
            return std::vector<std::byte>(size_of(rank, time), std::byte(16 * rank + time));
          };
          const auto own = static_cast<std::size_t>(world.rank());
          all[own] = content(own);
          blocks[own] = all[own];
          all_gather(world, 2, blocks);
          for (std::size_t r = 0; r < names.size(); ++r) {
            if (all[r] != content(r)) throw DataError("a block was mixed up");
          }
        }
      });
      if (max_direct > 1) continue;
      std::size_t wanted = 0;
      for (std::size_t time = 0; time < kTimes; ++time) {
        for (std::size_t r = 0; r < names.size(); ++r) wanted += size_of(r, time) * (groups - 1);
      }
      // A host whose ranks are not consecutive may have two groups; data sent between them does not
      // leave the host.
      BOOST_TEST(moved <= wanted);
      if (names.size() < 8) BOOST_TEST(moved == wanted);
    }
  }
}

// Returns the sums of a shard: `count` numbers for which the order of addition matters.
std::vector<float> shard(int number, std::size_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(number));
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& v : values) v = std::ldexp(normal(random), number % 7);
  return values;
}

void add_floats(std::span<std::byte> into, std::span<const std::byte> x) {
  auto* to = reinterpret_cast<float*>(into.data());
  const auto* from = reinterpret_cast<const float*>(x.data());
  for (std::size_t i = 0; i < into.size() / sizeof(float); ++i) to[i] += from[i];
}

// The sums for the shards of one rank, as after a training step.
struct OwnSums {
  OwnSums(const World& world, int shards, std::size_t count) {
    const ShardRun run = contiguous_shards(world.rank(), world.size(), shards);
    TreeFold fold;
    for (int s = run.begin; s < run.end; ++s) {
      std::vector<float> sum = shard(s, count);
      for (int more = fold.push({s, 1}); more > 0; --more) {
        add_floats(std::as_writable_bytes(std::span(values.back())), std::as_bytes(std::span(sum)));
        sum = std::move(values.back());
        values.pop_back();
      }
      values.push_back(std::move(sum));
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      subtrees.push_back({fold.stack()[i], std::as_writable_bytes(std::span(values[i]))});
  }
  // Returns this rank's sums in a bucket, as one span of bytes per subtree.
  std::vector<std::span<std::byte>> in(const TreeReduceScatter& sums, std::size_t bucket) const {
    std::vector<std::span<std::byte>> parts;
    for (const SubtreeSums& s : subtrees)
      parts.push_back(s.bytes.subspan(sums.begin_of(bucket), sums.bytes_of(bucket)));
    return parts;
  }
  std::vector<std::vector<float>> values;
  std::vector<SubtreeSums> subtrees;
};

// Checks the part of the sums that this rank owns.
void check_owned(const World& world, const Owners& owners, const std::vector<float>& found,
                 const std::vector<float>& expected) {
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].owner != world.rank()) continue;
    const std::size_t begin = owners[i].begin / sizeof(float),
                      end = i + 1 < owners.size() ? owners[i + 1].begin / sizeof(float)
                                                  : expected.size();
    if (std::memcmp(&found[begin], &expected[begin], (end - begin) * sizeof(float)) != 0)
      throw DataError("the sums of an owner differ");
  }
}

const auto memory_of = [](std::size_t bytes) { return Buffer::allocate(bytes); };

BOOST_AUTO_TEST_CASE(sums_on_several_ranks_match_one_rank_bit_for_bit) {
  constexpr int kShards = 16;
  constexpr std::size_t kCount = 1000;
  const OwnSums one({}, kShards, kCount);
  const std::vector<float>& expected = one.values.at(0);
  const auto add = [](std::size_t, std::span<std::byte> into, std::span<const std::byte> x) {
    add_floats(into, x);
  };
  for (const Names& names : worlds()) {
    for (const int max_direct : {1, 100}) {
      run(names, max_direct, [&](const World& world) {
        OwnSums own(world, kShards, kCount);
        sum_over_ranks(world, kShards, own.subtrees, add, memory_of);
        if (own.values[0] != expected) throw DataError("the sums differ");

        // These sums are sent to their owners; two buckets are submitted late.
        OwnSums more(world, kShards, kCount);
        const Owners owners = even_owners(world.size(), kCount * sizeof(float));
        TreeReduceScatter sums(world, kShards, owners, kCount * sizeof(float),
                               {.bytes = 256, .first_channel = kFirstBucketChannel}, memory_of);
        const auto submit = [&](std::size_t b) { sums.submit(b, more.in(sums, b)); };
        for (std::size_t b = 2; b < sums.buckets(); ++b) submit(b), sums.progress(add);
        submit(1), submit(0);
        sums.finish(add);
        check_owned(world, owners, more.values[0], expected);
      });
    }
  }
}

// Memory for all buckets would be about ten times as large.
BOOST_AUTO_TEST_CASE(few_buckets_are_open_at_a_time) {
  constexpr std::size_t kCount = 4000, kBytes = kCount * sizeof(float), kBucket = 256, kOpen = 2;
  const auto add = [](std::size_t, std::span<std::byte> into, std::span<const std::byte> x) {
    add_floats(into, x);
  };
  for (const Names& names : worlds()) {
    const int ranks = static_cast<int>(names.size());
    if (!std::has_single_bit(names.size())) continue;
    const OwnSums one({}, ranks, kCount);
    for (const int max_direct : {1, 100}) {
      run(names, max_direct, [&](const World& world) {
        std::vector<std::weak_ptr<Buffer>> taken;
        std::size_t most = 0;
        const auto memory = [&](std::size_t bytes) {
          const std::shared_ptr<Buffer> buffer = Buffer::allocate(bytes);
          taken.push_back(buffer);
          std::erase_if(taken, [](const auto& b) { return b.expired(); });
          std::size_t now = 0;
          for (const auto& b : taken) now += b.lock()->bytes();
          most = std::max(most, now);
          return buffer;
        };
        OwnSums own(world, ranks, kCount);
        // The owner changes often, so that all ranks are always busy.
        Owners owners;
        for (std::size_t begin = 0, r = 0; begin < kBytes; begin += 1024)
          owners.push_back({begin, static_cast<int>(r++ % names.size())});
        TreeReduceScatter sums(
            world, ranks, owners, kBytes,
            {.bytes = kBucket, .first_channel = kFirstBucketChannel, .by_bucket = true}, memory);
        std::size_t open = 0;
        for (std::size_t b = sums.buckets(); b-- > 0;) {
          sums.submit(b, own.in(sums, b));
          ++open;
          sums.close(add, kOpen, [&](std::size_t) { --open; });
          if (open > kOpen) throw DataError("too many buckets are open");
        }
        sums.finish(add);
        check_owned(world, owners, own.values[0], one.values[0]);
        if (most > (kOpen + 1) * kBucket * (names.size() - 1))
          throw DataError(fmt::format("{} bytes were allocated at the same time", most));
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(sums_are_sent_between_hosts_once) {
  constexpr int kShards = 4;
  constexpr std::size_t kCount = 1024;
  const auto moved = [](int max_direct) {
    return run({"a", "a", "b", "b"}, max_direct, [](const World& world) {
      OwnSums own(world, kShards, kCount);
      const Owners owners = even_owners(world.size(), kCount * sizeof(float));
      TreeReduceScatter sums(world, kShards, owners, kCount * sizeof(float),
                             {.bytes = 512, .first_channel = kFirstBucketChannel}, memory_of);
      for (std::size_t b = 0; b < sums.buckets(); ++b) sums.submit(b, own.in(sums, b));
      sums.finish([](std::size_t, std::span<std::byte> into, std::span<const std::byte> x) {
        add_floats(into, x);
      });
    });
  };
  // For the part owned by the two ranks on one host, the other host sends one sum as a group, or
  // one sum per rank.
  BOOST_TEST(moved(1) == kCount * sizeof(float));
  BOOST_TEST(moved(4) == 2 * kCount * sizeof(float));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
