#include "weft/models/generate/structured/formats.h"

#include <string>
#include <utility>

namespace weft::structured {
namespace {

using Format = std::pair<std::string_view, std::string>;

const std::vector<Format>& formats() {
  static const std::vector<Format> list = [] {
    // RFC 3339. February 29 exists in leap years only.
    const std::string date =
        "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|"
        "30)"
        "|02-(?:0[1-9]|1\\d|2[0-8]))|(?:(?:[02468][048]|[13579][26])00|\\d\\d(?:0[48]|[2468][048]|"
        "[13579][26]))-02-29)";
    const std::string time =
        "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[-+](?:[01]\\d|2[0-3]):[0-5]\\d)";
    const std::string clock =
        "T(?:\\d{1,9}H(?:\\d{1,9}M(?:\\d{1,9}S)?)?|\\d{1,9}M(?:\\d{1,9}S)?|\\d{1,9}S)";
    const std::string duration =
        "P(?:(?:\\d{1,9}Y(?:\\d{1,9}M(?:\\d{1,9}D)?)?|\\d{1,9}M(?:\\d{1,9}D)?|\\d{1,9}D)(?:" +
        clock + ")?|" + clock + "|\\d{1,9}W)";
    // RFC 1123: at most 4 labels of 61 characters, so that 253 characters are never exceeded.
    const std::string label = "[A-Za-z0-9](?:[-A-Za-z0-9]{0,59}[A-Za-z0-9])?";
    const std::string host = label + "(?:\\." + label + "){0,3}";
    const std::string word = "[-A-Za-z0-9_+]{1,20}";
    const std::string octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
    const std::string group = "[0-9A-Fa-f]{1,4}";
    // RFC 4291 without embedded IPv4 addresses: "::" stands for one or more groups of zeros.
    std::string ipv6 = "(?:" + group + ":){7}" + group + "|(?:" + group + ":){1,7}:";
    for (int after = 1; after <= 6; ++after) {
      ipv6 += "|(?:" + group + ":){1," + std::to_string(7 - after) + "}(?::" + group + "){" +
              std::to_string(after) + "}";
    }
    ipv6 += "|:(?:(?::" + group + "){1,7}|:)";
    return std::vector<Format>{
        {"date-time", date + "T" + time},
        {"date", date},
        {"time", time},
        {"duration", duration},
        {"email", word + "(?:\\." + word + "){0,2}@" + label + "(?:\\." + label + "){1,3}"},
        {"hostname", host},
        {"ipv4", octet + "(?:\\." + octet + "){3}"},
        {"ipv6", ipv6},
        {"uuid", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"}};
  }();
  return list;
}

}  // namespace

std::optional<std::string_view> format_pattern(std::string_view name) {
  for (const Format& format : formats()) {
    if (format.first == name) return format.second;
  }
  return std::nullopt;
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const Format& format : formats()) names.push_back(format.first);
  return names;
}

}  // namespace weft::structured
