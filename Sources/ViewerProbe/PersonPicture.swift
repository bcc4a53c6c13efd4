import LayoutEngine

/// The picture of a synthetic publisher that looks like a show: a person who talks in a room, a name and a clock.
///
/// Layers are drawn once (SVG) and moved by `ffmpeg`, so that a picture costs a few small overlays. All lengths refer
/// to a picture whose short side is 720 pixels, and are measured from its centre; the important parts remain when the
/// picture is cropped to a centred square.
struct PersonPicture: Hashable, Sendable {
    /// A drawing in front of the earlier ones.
    struct Layer: Hashable, Sendable {
        /// The drawing as SVG.
        var drawing: String
        /// `ffmpeg`'s expressions for its left and upper edge in pixels, over the time `t` in seconds.
        var x: String
        var y: String
        /// `ffmpeg`'s expression for the times at which the layer is shown; `nil` means always.
        var isShown: String?
    }

    /// Name in the picture.
    var name: String
    /// Size of the picture in pixels.
    var width: Int
    var height: Int
    /// Colour of the shirt and, mixed, of the wall.
    var colour: RGB
    /// Number of the person, which chooses skin and hair.
    var number: Int

    /// Pixels for each unit of length.
    private var unit: Double { Double(min(width, height)) / 720 }
    private var centre: (x: Double, y: Double) { (Double(width) / 2, Double(height) / 2) }

    private static let skins = ["#f0c2a0", "#d9a27c", "#8d5a3b", "#f3cfb3", "#b97f55"]
    private static let hairs = ["#4a2c22", "#1f1a18", "#14110f", "#b0823f", "#6b6560"]
    private var skin: String { Self.skins[abs(number) % Self.skins.count] }
    private var hair: String { Self.hairs[abs(number) % Self.hairs.count] }

    /// The layers from back to front.
    var layers: [Layer] { [room, body, head, mouth, lids] }

    /// The filter that writes the time of day below the name.
    var clock: String {
        "drawtext=font='DejaVu Sans':text='%{localtime\\:%T}'"
            + ":x=\(pixels(centre.x, -288)):y=\(pixels(centre.y, -226)):fontsize=\(Int(30 * unit))"
            + ":fontcolor=white:shadowx=2:shadowy=2:shadowcolor=0x00000080"
    }

    private var room: Layer {
        let light = RGB(mixing: colour, with: RGB(red: 255, green: 244, blue: 228), share: 0.62)
        let dark = RGB(mixing: colour, with: RGB(red: 24, green: 24, blue: 32), share: 0.3)
        let drawing = """
            <defs><linearGradient id="wall" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="\(light)"/>\
            <stop offset="1" stop-color="\(dark)"/></linearGradient>\
            <radialGradient id="lamp"><stop offset="0" stop-color="#fff4d6" stop-opacity=".9"/>\
            <stop offset="1" stop-color="#fff4d6" stop-opacity="0"/></radialGradient></defs>\
            <rect x="-5000" y="\(-centre.y / unit)" width="10000" height="\(2 * centre.y / unit)" fill="url(#wall)"/>\
            <circle cx="-230" cy="-150" r="210" fill="url(#lamp)"/>\
            <rect x="130" y="-190" width="210" height="12" rx="4" fill="\(dark)"/>\
            <rect x="150" y="-262" width="26" height="72" fill="#e9dfcf"/>\
            <rect x="180" y="-250" width="20" height="60" fill="\(colour)"/>\
            <rect x="204" y="-270" width="30" height="80" fill="#d8b05a"/>\
            <path d="M290 -190q-6 -70 -40 -96q44 10 50 60q8 -60 44 -70q-30 36 -32 106z" fill="#4d7f54"/>\
            <rect x="278" y="-214" width="44" height="26" rx="4" fill="#f4efe6"/>\
            <text x="-288" y="-240" font-family="DejaVu Sans" font-weight="bold" font-size="46" fill="#fff">\
            \(Self.escaped(name))</text>
            """
        return Layer(
            drawing: svg(width: Double(width) / unit, height: Double(height) / unit, drawing), x: "0", y: "0")
    }

    private var body: Layer {
        let height = centre.y / unit - 30
        let drawing = """
            <g transform="translate(0 \(-height / 2))"><rect x="-46" y="0" width="92" height="130" rx="40" fill="\(skin)"/>\
            <path d="M-250 \(height)V210C-250 120 -150 90 -70 78Q0 150 70 78C150 90 250 120 250 210V\(height)Z" \
            fill="\(colour)"/></g>
            """
        return layer(
            width: 520, height: height, drawing, x: 0, y: 30 + height / 2, sway: 6, nod: 0)
    }

    private var head: Layer {
        let drawing = """
            <path d="M-130 40C-160 -190 160 -190 130 40C120 90 -120 90 -130 40Z" fill="\(hair)"/>\
            <ellipse cy="10" rx="104" ry="126" fill="\(skin)"/>\
            <path d="M-107 -10C-112 -160 112 -160 107 -10C60 -56 -20 -50 -60 -84C-70 -56 -90 -40 -107 -10Z" fill="\(hair)"/>\
            <g fill="#fff"><circle cx="-42" cy="-4" r="13"/><circle cx="42" cy="-4" r="13"/></g>\
            <g fill="#222"><circle cx="-40" cy="-3" r="7"/><circle cx="44" cy="-3" r="7"/></g>\
            <path d="M-62 -32q20 -12 40 -2M22 -34q20 -10 40 2" stroke="\(hair)" stroke-width="7" fill="none" \
            stroke-linecap="round"/><path d="M0 6q12 26 -6 30" stroke="#000" stroke-opacity=".2" stroke-width="5" fill="none"/>\
            <path d="M-34 66q34 26 68 0" stroke="#8a3b34" stroke-width="8" fill="none" stroke-linecap="round"/>
            """
        return layer(width: 300, height: 330, drawing, x: 0, y: -60)
    }

    /// Open three times a second, in sentences of 3.4 s with pauses.
    private var mouth: Layer {
        var mouth = layer(
            width: 90, height: 60,
            ##"<ellipse rx="34" ry="20" fill="#6d241f"/><ellipse cy="9" rx="20" ry="8" fill="#d9736b"/>"##, x: 0, y: 12)
        mouth.isShown = "lt(mod(t*3.1+\(number),1),0.5)*lt(mod(t+\(number),5),3.4)"
        return mouth
    }

    private var lids: Layer {
        var lids = layer(
            width: 130, height: 36,
            "<circle cx=\"-42\" r=\"15\" fill=\"\(skin)\"/><circle cx=\"42\" r=\"15\" fill=\"\(skin)\"/>"
                + "<path d=\"M-55 2h26M29 2h26\" stroke=\"#222\" stroke-width=\"5\"/>", x: 0, y: -64)
        lids.isShown = "lt(mod(t+\(number),3.7),0.15)"
        return lids
    }

    /// Returns a drawing whose origin is the middle of its own area and which moves around (`x`, `y`).
    private func layer(
        width: Double, height: Double, _ drawing: String, x: Double, y: Double, sway: Double = 14, nod: Double = 6
    ) -> Layer {
        Layer(
            drawing: svg(width: width, height: height, drawing),
            x: "\(pixels(centre.x, x - width / 2))+\(sway * unit)*sin(t*1.3+\(number))",
            y: "\(pixels(centre.y, y - height / 2))+\(nod * unit)*sin(t*2.7+\(number))")
    }

    private func pixels(_ centre: Double, _ distance: Double) -> Int { Int((centre + distance * unit).rounded()) }

    private func svg(width: Double, height: Double, _ body: String) -> String {
        let (w, h) = (Int((width * unit).rounded()), Int((height * unit).rounded()))
        return #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(w)" height="\#(h)" "#
            + #"viewBox="\#(-width / 2) \#(-height / 2) \#(width) \#(height)">\#(body)</svg>"#
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            default: scalar.value < 32 ? " " : String(scalar)
            }
        }.joined()
    }
}

extension RGB {
    /// `share` of the second colour and the rest of the first.
    fileprivate init(mixing first: RGB, with second: RGB, share: Double) {
        func mix(_ one: UInt8, _ two: UInt8) -> UInt8 {
            UInt8((Double(one) * (1 - share) + Double(two) * share).rounded())
        }
        self.init(
            red: mix(first.red, second.red), green: mix(first.green, second.green), blue: mix(first.blue, second.blue))
    }
}
