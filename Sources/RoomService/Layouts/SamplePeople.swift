import LayoutEngine

/// Sample participants for a layout: a host, then guests in the order in which they joined.
package struct SamplePeople: Hashable, Sendable {
    /// Number of people, 0…`most`.
    package var count: Int
    /// Whether the host also shares a screen.
    var sharesScreen = false
    /// Whether people have cameras. If not, they can only be heard.
    var haveCameras = true

    package init(count: Int, sharesScreen: Bool = false, haveCameras: Bool = true) {
        self.count = count
        self.sharesScreen = sharesScreen
        self.haveCameras = haveCameras
    }

    /// Maximum number of people with which a layout is tried.
    package static let most = LayoutEngine.mostPanes

    private static let names = [
        "Ada", "Ben", "Chloé", "David", "Elif", "Farid", "Grace", "Hugo", "Iris", "Jonas", "Kira", "Liam", "Mei",
        "Noah",
        "Olga", "Paul",
    ]

    package var participants: [LayoutParticipant] {
        let kind: LayoutParticipant.Kind = haveCameras ? .camera : .audio
        var people = zip(0..<count, Self.names).map { index, name in
            LayoutParticipant(
                source: "user\(index + 1)/\(kind.rawValue)", user: "user\(index + 1)", name: name,
                role: index == 0 ? .host : .guest, kind: kind, joinOrder: index, hasVideo: haveCameras)
        }
        if sharesScreen, count > 0 {
            people.append(
                LayoutParticipant(
                    source: "user1/screen", user: "user1", name: Self.names.first, role: .host, kind: .screen,
                    joinOrder: 0))
        }
        return people
    }

    /// Title such as `4 people` or `1 person and a screen`.
    package var title: String {
        "\(count) \(count == 1 ? "person" : "people")" + (sharesScreen && count > 0 ? " and a screen" : "")
    }
}

extension SamplePeople {
    /// Creates people that demonstrate a layout: with a screen if an arrangement has a place for one, without cameras
    /// if only the loudest voices are heard. The built-in layout is demonstrated as most rooms see it, without a screen.
    package init(_ count: Int, for template: LayoutTemplate) {
        self.count = count
        sharesScreen =
            template.name != LayoutLibrary.automaticName
            && template.arrangements.contains { $0.when.screen == true }
        haveCameras = template.settings.sound.loudest == nil
    }
}

extension Canvas {
    /// Creates a canvas from `WIDTHxHEIGHT` or `WIDTHxHEIGHT@FPS`.
    ///
    /// - Returns: `nil` when the text is anything else, or outside the limits of a canvas.
    package init?(_ text: String, fps defaultFPS: Int) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let sides = parts[0].split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count <= 2, sides.count == 2, let width = sides[0], let height = sides[1],
            [width, height].allSatisfy({ 16...7680 ~= $0 && $0.isMultiple(of: 2) })
        else { return nil }
        var fps = defaultFPS
        if parts.count == 2 {
            guard let rate = Int(parts[1]), 1...60 ~= rate else { return nil }
            fps = rate
        }
        self.init(width: width, height: height, fps: fps)
    }

    /// Form that `init(_:fps:)` reads, for error messages.
    package static let textRule =
        "WIDTHxHEIGHT or WIDTHxHEIGHT@FPS, sides even and 16…7680, fps 1…60, as in 720x1280@20"
}
