#include "weft/models/serve/http/routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <utility>

#include "weft/core/excerpt.h"
#include "weft/core/version.h"
#include "weft/models/serve/http/page.h"
#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/serve/http/protocol/json_fields.h"

namespace weft {
namespace {

/// Compares secrets in a time that depends only on their sizes.
bool equal_secrets(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

/// Returns the name in a Host header, without its port.
std::string host_name(const std::string& host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_loopback(const std::string& name) {
  return name == "localhost" || name == "[::1]" || name == "::1" || name.starts_with("127.");
}

/// Returns a part of a path with its escapes ("%2F") replaced.
std::string unescaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < text.size() ? kDigits.find(static_cast<char>(
                                    std::tolower(static_cast<unsigned char>(text[at]))))
                              : std::string_view::npos;
    };
    const std::size_t high = digit(i + 1), low = digit(i + 2);
    if (text[i] != '%' || high == std::string_view::npos || low == std::string_view::npos) {
      out += text[i];
    } else {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

constexpr std::string_view kModelsPath = "/v1/models";

}  // namespace

const std::vector<Routes::Route>& Routes::all() {
  static const std::vector<Route> routes = {
      {"GET", "/", &Routes::page, true},
      {"GET", "/health", &Routes::health, true},
      {"GET", "/v1/models", &Routes::list_models},
      {"GET", "/status", &Routes::status},
      {"GET", "/metrics", &Routes::metrics},
      {"POST", "/v1/chat/completions", &Routes::chat},
      {"POST", "/v1/completions", &Routes::complete},
      {"POST", "/v1/embeddings", &Routes::embeddings},
      {"POST", "/v1/rerank", &Routes::rerank},
      {"POST", "/rerank", &Routes::rerank},
      {"POST", "/classify", &Routes::classify},
      {"POST", "/tag", &Routes::tag},
      {"POST", "/translate", &Routes::translate},
      {"POST", "/tokenize", &Routes::tokenize},
      {"POST", "/detokenize", &Routes::detokenize},
  };
  return routes;
}

const Routes::Route* Routes::find(const std::string& method, const std::string& path) {
  const bool one_model = path.starts_with(std::string(kModelsPath) + "/");
  const std::string_view name = one_model ? kModelsPath : path;
  const std::string_view wanted = method == "HEAD" ? "GET" : std::string_view(method);
  for (const Route& route : all())
    if (route.path == name && route.method == wanted) return &route;
  return nullptr;
}

Routes::Routes(std::vector<std::shared_ptr<ServedModel>> models, const HttpServerOptions& options)
    : models_(std::move(models), options.chat_format), options_(options) {}

bool Routes::has_key(const std::string& authorization) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (!authorization.starts_with(kBearer)) return false;
  const std::string_view given = std::string_view(authorization).substr(kBearer.size());
  bool known = false;
  for (const std::string& key : options_.api_keys) known |= equal_secrets(key, given);
  return known;
}

std::optional<HttpReply> Routes::refuse(const HttpRequest& request,
                                        std::string_view content_type) const {
  // A web page can make its own name an address of this machine (DNS rebinding).
  if (is_loopback(options_.host) && !request.host.empty() &&
      !is_loopback(host_name(request.host))) {
    return error_reply({403,
                        fmt::format("the host '{}' is not this machine: use localhost, or start "
                                    "the server with --host",
                                    excerpt(request.host)),
                        "wrong_host"});
  }
  if (request.method == "OPTIONS" && !options_.cors.empty()) {
    return HttpReply{204,
                     {},
                     "text/plain",
                     {{"Access-Control-Allow-Methods", "GET, POST"},
                      {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                      {"Access-Control-Max-Age", "86400"}}};
  }
  const Route* route = find(request.method, request.path);
  if (route == nullptr) {
    std::vector<std::string_view> methods;
    for (const char* method : {"GET", "POST"})
      if (find(method, request.path) != nullptr) methods.emplace_back(method);
    if (methods.empty()) {
      return error_reply({404, fmt::format("there is no {}", excerpt(request.path)), "not_found"});
    }
    const std::string allowed = fmt::format("{}", fmt::join(methods, ", "));
    HttpReply reply = error_reply(
        {405, fmt::format("{} accepts {}, not {}", request.path, allowed, excerpt(request.method)),
         "method_not_allowed"});
    reply.headers.emplace_back("Allow", allowed);
    return reply;
  }
  if (!route->open && !options_.api_keys.empty() && !has_key(request.authorization)) {
    return error_reply({401,
                        request.authorization.empty()
                            ? "this server needs an API key: send the header 'Authorization: "
                              "Bearer KEY'"
                            : "the API key is not valid",
                        "invalid_api_key"});
  }
  // Web pages of other origins can send other types without the consent of the server.
  if (std::string_view(route->method) == "POST" && !content_type.starts_with("application/json")) {
    return error_reply({415,
                        fmt::format("the type of the request is '{}': send JSON with the header "
                                    "'Content-Type: application/json'",
                                    excerpt(content_type)),
                        "unsupported_media_type"});
  }
  return std::nullopt;
}

void Routes::handle(const std::shared_ptr<Exchange>& exchange) {
  const Route* route = find(exchange->request().method, exchange->request().path);
  (this->*route->handler)(exchange);
  exchange->release_body();
}

void Routes::count(const HttpLogEntry& entry) {
  const bool known = entry.status != 404 && find(entry.method, entry.path) != nullptr;
  const bool one_model = entry.path.starts_with(kModelsPath);
  const std::lock_guard lock(mutex_);
  ++replies_[{known ? (one_model ? std::string(kModelsPath) : entry.path) : "other", entry.status}];
  reply_seconds_ += entry.seconds;
}

void Routes::page(const std::shared_ptr<Exchange>& exchange) {
  HttpReply reply{200, std::string(weft::page()), "text/html; charset=utf-8"};
  reply.headers = {{"Content-Security-Policy", std::string(page_policy())},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cache-Control", "no-cache"}};
  post_reply(exchange, std::move(reply));
}

void Routes::health(const std::shared_ptr<Exchange>& exchange) {
  if (stopping_) throw ApiError(503, "the server is stopping", "stopping");
  post_json(exchange, R"({"status":"ok"})");
}

void Routes::list_models(const std::shared_ptr<Exchange>& exchange) {
  const auto describe = [](const ChosenModel& model) {
    const ServedModel& served = model.entry->model();
    Json json = {{"id", model.name},
                 {"object", "model"},
                 {"created", served.created()},
                 {"owned_by", "weft"}};
    if (!model.adapter.empty()) json["parent"] = served.name();
    json["max_model_len"] = json_or_null(model.entry->context());
    return json;
  };
  const std::string& path = exchange->request().path;
  if (path.size() > kModelsPath.size() + 1)
    return post_json(
        exchange,
        json_text(describe(models_.find(unescaped(path.substr(kModelsPath.size() + 1))))));
  Json list = Json::array();
  for (const ChosenModel& model : models_.names()) list.push_back(describe(model));
  post_json(exchange, json_text({{"object", "list"}, {"data", std::move(list)}}));
}

}  // namespace weft
