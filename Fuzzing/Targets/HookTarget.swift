import EventSubscription
import MixModel

/// Calls of media servers, to all hooks: the query up to the first NUL, then the body.
enum HookTarget: FuzzTarget {
    static let name = "hooks"

    static var seeds: [[UInt8]] {
        EventHooks.all.map { Array($0.example.query.utf8) + [0] + $0.example.body }
            + [Array("call=publish&app=live&name=lobby__alice&clientid=7&token=0123456789abcdef".utf8) + [0]]
    }

    private static let reader: HookReader? = {
        guard let names = try? NamePatterns([], allowsArguments: true),
            let template = try? HookURLTemplate("rtmp://127.0.0.1/{app}/{name}")
        else { return nil }
        return HookReader(
            settings: HookSettings(secret: HookSecret("0123456789abcdef"), names: names, urlTemplate: template),
            parser: EventParser(allowList: .loopbackOnly))
    }()

    static func run(_ bytes: [UInt8]) {
        guard let reader else { return }
        let query = bytes.prefix { $0 != 0 }
        let body = Array(bytes.dropFirst(query.count + 1))
        for hook in EventHooks.all {
            for method in hook.methods {
                let request = HookRequest(
                    method: method, query: String(decoding: query, as: UTF8.self),
                    headers: [.init(name: "content-type", value: "application/x-www-form-urlencoded")], body: body)
                _ = hook.isAuthentic(request, secret: reader.settings.secret)
                let outcome = try? hook.outcome(of: request, reader: reader)
                for event in outcome?.events ?? [] {
                    require((1...128).contains(event.room.rawValue.utf8.count), "room \(event.room)")
                }
                _ = hook.answer(.accepted, to: outcome)
            }
        }
    }
}
