// Checks of the trace files that Trace writes.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft::testing {

/// A slice of a timeline, with times in nanoseconds.
struct TimelineSlice {
  std::int64_t begin, end;
  std::string name, category;
  nlohmann::json arguments;

  bool contains(const TimelineSlice& other) const {
    return begin <= other.begin && other.end <= end;
  }
};

/// A parsed trace file: the slices of each track, in order of their beginning, outer slices first.
/// The constructor checks that slices of a track are disjoint or nested.
class Timeline {
 public:
  using Track = std::pair<int, int>;  // process and thread
  using Slices = std::vector<TimelineSlice>;

  explicit Timeline(const std::string& json) {
    const auto ns = [](const nlohmann::json& us) {
      return static_cast<std::int64_t>(std::llround(us.get<double>() * 1000));
    };
    const nlohmann::json file = nlohmann::json::parse(json);
    for (const nlohmann::json& event : file["traceEvents"]) {
      const Track track{event["pid"], event["tid"]};
      if (event["ph"] == "M") {
        if (event["name"] == "thread_name") names[track] = event["args"]["name"];
        if (event["name"] == "process_name") processes[track.first] = event["args"]["name"];
      } else if (event["ph"] == "C") {
        counters[{track.first, event["name"].get<std::string>()}].emplace_back(
            ns(event["ts"]), event["args"]["bytes"].get<std::size_t>());
      } else {
        BOOST_TEST_REQUIRE(event["ph"] == "X");
        const std::int64_t begin = ns(event["ts"]);
        tracks[track].push_back(
            {begin, begin + ns(event["dur"]), event["name"], event["cat"], event["args"]});
      }
    }
    for (auto& [track, slices] : tracks) {
      std::stable_sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
        return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end);
      });
      check_nesting(slices);
    }
  }

  static void check_nesting(const Slices& slices) {
    std::vector<const TimelineSlice*> open;
    for (const TimelineSlice& slice : slices) {
      BOOST_TEST(slice.begin <= slice.end);
      while (!open.empty() && open.back()->end <= slice.begin) open.pop_back();
      if (!open.empty()) BOOST_TEST(slice.end <= open.back()->end, slice.name);
      open.push_back(&slice);
    }
  }

  /// Returns the slices of the track with this name in the process.
  const Slices& named(const std::string& name, int process = 0) const {
    for (const auto& [track, found] : names) {
      if (found == name && track.first == process) return tracks.at(track);
    }
    BOOST_FAIL("there is no track " + name);
    return tracks.begin()->second;
  }

  std::map<Track, Slices> tracks;
  std::map<Track, std::string> names;
  std::map<int, std::string> processes;
  /// Times and values, by process and name.
  std::map<std::pair<int, std::string>, std::vector<std::pair<std::int64_t, std::size_t>>> counters;
};

/// Checks that the parts of every run on the track of a session follow each other without gaps, so
/// that their times sum up to the time of the run. Returns the number of runs.
inline int check_runs(const Timeline::Slices& session) {
  int runs = 0;
  for (const TimelineSlice& run : session) {
    if (run.category != "session run") continue;
    ++runs;
    std::int64_t at = run.begin;
    for (const TimelineSlice& part : session) {
      // Parts of loops are inside of waves, which end later.
      if (&part == &run || !run.contains(part) || part.begin < at) continue;
      BOOST_TEST(part.begin == at, part.name);
      at = part.end;
    }
    BOOST_TEST(at == run.end);
  }
  return runs;
}

/// Checks that every slice of a worker is inside of a wave of the same program.
inline void check_workers(const Timeline& timeline, const std::string& session, int process = 0) {
  const Timeline::Slices& waves = timeline.named(session, process);
  for (const auto& [track, name] : timeline.names) {
    if (track.first != process || !name.starts_with(session + ": worker")) continue;
    for (const TimelineSlice& slice : timeline.tracks.at(track)) {
      const bool inside = std::any_of(waves.begin(), waves.end(), [&](const TimelineSlice& wave) {
        return wave.name.starts_with("wave") && wave.category == slice.category &&
               wave.contains(slice);
      });
      BOOST_TEST(inside, slice.name);
      BOOST_TEST(slice.arguments["busy_us"].get<double>() * 1000 <=
                 static_cast<double>(slice.end - slice.begin) + 2);
    }
  }
}

}  // namespace weft::testing
