// A queue that serves clients in rotation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace weft {

/// Items of several clients. The clients take turns; the items of a client keep their order.
template <class Item>
class FairQueue {
 public:
  void push(const std::string& client, Item item) {
    std::deque<Item>& items = items_[client];
    if (items.empty()) turns_.push_back(client);
    items.push_back(std::move(item));
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  std::int64_t size() const { return size_; }
  /// The next item. The queue must not be empty.
  const Item& front() const { return items_.at(turns_.front()).front(); }
  Item pop() {
    std::string client = std::move(turns_.front());
    turns_.pop_front();
    const auto own = items_.find(client);
    Item item = std::move(own->second.front());
    own->second.pop_front();
    --size_;
    if (own->second.empty()) {
      items_.erase(own);
    } else {
      turns_.push_back(std::move(client));
    }
    return item;
  }
  /// Removes an item of a client. Returns false if the client has no such item.
  bool erase(const std::string& client, const Item& item) {
    const auto own = items_.find(client);
    if (own == items_.end() || std::erase(own->second, item) == 0) return false;
    --size_;
    if (own->second.empty()) {
      items_.erase(own);
      std::erase(turns_, client);
    }
    return true;
  }

 private:
  std::map<std::string, std::deque<Item>> items_;  // by client; no empty lists
  std::deque<std::string> turns_;  // clients with items, in the order of their turns
  std::int64_t size_ = 0;
};

}  // namespace weft
