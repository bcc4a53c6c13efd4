import ArgumentParser
import Foundation

struct SignURLCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-url", abstract: "Signs the URL of a program for viewers.",
        discussion: """
            Prints the URL with an auth_key of type A, as ApsaraVideo Live has it: it opens that path, and no other, until \
            it expires. The key is that of the service: playback.key in its configuration. Without --key it is taken from \
            MIXORCHESTRATOR_PLAYBACK_KEY or the configuration; arguments can be read by others on this machine.
            """)

    @Argument(help: "As in http://127.0.0.1:8080/live/demo.flv; what else the query says stays.")
    var url: String
    @Option(help: "playback.key of the service.")
    var key: String?
    @Option(help: "Seconds for which the URL is good; playback.validity of the service comes on top. Default 3600.")
    var ttl = 3600
    @Option(help: "Whose URL it is, letters and digits. Default 0.")
    var uid = "0"
    @Option(help: "YAML file with the configuration of the service.")
    var config: String?

    func validate() throws {
        guard 0...315_360_000 ~= ttl else { throw ValidationError("--ttl: found \(ttl); expected 0…315360000 seconds") }
        guard 1...PlaybackAccess.longestWord ~= uid.utf8.count,
            uid.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { throw ValidationError("--uid: found \"\(uid)\"; expected letters and digits") }
    }

    func run() throws {
        print(try signed(now: Int(Date.now.timeIntervalSince1970)))
    }

    /// Returns the signed URL.
    ///
    /// - Parameter now: Current time, in seconds since 1970.
    func signed(now: Int) throws -> String {
        guard var parts = URLComponents(string: url), parts.scheme != nil, !parts.percentEncodedPath.isEmpty else {
            throw ValidationError("found \"\(url)\"; expected a URL, as in http://127.0.0.1:8080/live/demo.flv")
        }
        let value = PlaybackAccess.authKey(
            path: parts.percentEncodedPath, time: now + ttl,
            random: String(UInt64.random(in: 1 ... .max), radix: 36), uid: uid, key: try secret())
        var items = (parts.percentEncodedQueryItems ?? []).filter { $0.name != PlaybackAccess.parameter }
        items.append(URLQueryItem(name: PlaybackAccess.parameter, value: value))
        parts.percentEncodedQueryItems = items
        return parts.string ?? url
    }

    private func secret() throws -> String {
        if let key { return key }
        do {
            let values = ConfigurationValues(try ConfigurationKeys.reader(file: config))
            var settings = PlaybackSettings()
            if let key = try settings.key("playback.key", values, file: nil) { return key }
        } catch let error as StartupError {
            throw ValidationError("\(error)")
        }
        throw ValidationError("there is no key: give --key, or --config with playback.key or playback.keyFile in it")
    }
}
