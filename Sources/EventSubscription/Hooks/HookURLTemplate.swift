import MixModel
import TextFormats

/// A template of the URLs from which a hook's streams are pulled, such as `rtmp://127.0.0.1/{app}/{name}`.
///
/// `{vhost}`, `{app}` and `{name}` are the media server's names for the stream; `{tenant}`, `{room}`, `{user}` and
/// `{stream}` are parsed from its name. Values are percent-encoded.
package struct HookURLTemplate: Hashable, Sendable {
    package let text: String

    static let placeholders = ["vhost", "app", "name", "tenant", "room", "user", "stream"]

    /// - Throws: `InputError` about the first placeholder that does not exist.
    package init(_ text: String) throws(InputError) {
        var rest = text[...]
        while let open = rest.splitAtFirst("{") {
            let name = open.tail.splitAtFirst("}")?.head
            guard let name, Self.placeholders.contains(where: { $0.hasSameUTF8(as: String(name)) }) else {
                let found = name.map { String($0) } ?? String(open.tail)
                throw InputError(
                    .invalidField, field: "url", found: JSONValue.string("{" + found).summary,
                    expected: "one of " + Self.placeholders.map { "{\($0)}" }.joined(separator: ", ")
                        + Suggestion.phrase(for: found, among: Self.placeholders))
            }
            rest = open.tail
        }
        self.text = text
    }

    func url(of stream: MediaServerStream, _ name: String, as names: StreamNames) -> String {
        EventParser.substitute(
            text,
            [
                "vhost": stream.vhost, "app": stream.app, "name": name, "tenant": names.room.app.rawValue,
                "room": names.room.name, "user": names.user.rawValue, "stream": names.stream.rawValue,
            ])
    }
}
