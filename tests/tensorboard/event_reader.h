// Reads event files with read_events.py, which is independent of the writer.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "weft/tests/support/program_shell.h"

namespace weft {

/// Returns the output of read_events.py for a file.
inline Outcome read_events(const std::string& file, const std::string& option = "") {
  const Shell python(std::string(WEFT_PYTHON) + " " + WEFT_SOURCE_DIR +
                     "/tests/tensorboard/read_events.py");
  return python(option + " " + file);
}

/// Returns the events of a file. Fails if the reader rejects the file.
inline std::vector<nlohmann::json> events_in(const std::string& file) {
  const Outcome outcome = read_events(file);
  BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  std::vector<nlohmann::json> events;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
  return events;
}

/// Returns the event files of a folder, in the order in which TensorBoard reads them.
inline std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    BOOST_TEST(entry.path().filename().string().starts_with("events.out.tfevents."));
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A value of a tag: the step, and the Summary.Value message.
struct TaggedValue {
  std::int64_t step;
  nlohmann::json value;
};

/// Returns the values of every tag, in file order.
inline std::map<std::string, std::vector<TaggedValue>> values_by_tag(
    const std::vector<nlohmann::json>& events) {
  std::map<std::string, std::vector<TaggedValue>> tags;
  for (const nlohmann::json& event : events) {
    if (!event.contains("summary")) continue;
    for (const nlohmann::json& value : event["summary"]["value"])
      tags[value["tag"].get<std::string>()].push_back({event["step"], value});
  }
  return tags;
}

}  // namespace weft
