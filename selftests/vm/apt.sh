# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A private apt: package files of either architecture, which the machine's own apt
# and dpkg do not see.
#
# Sourced after lib.sh.  The mirrors are those that this machine's apt is
# configured to use; the suites are those of Debian 12 and its backports,
# independent of the release of this machine: the kernels under test are Debian 12's.
# Nothing is installed: packages are downloaded, verified by apt, and unpacked
# with dpkg.
#
# An architecture may be followed by "-src" or "-sid": see apt_sources_of().

BASE=bookworm
OFFLINE=69	# EX_UNAVAILABLE: the status of fetch if no mirror can be reached
UNREACHABLE='resolv|[Cc]ould not connect|[Uu]nable to connect|timed out|[Nn]etwork is unreachable'

# apt_or_die MESSAGE COMMAND...: run it quietly; a failure of the network has a status of its own
apt_or_die() {
	local message=$1 text
	shift
	text=$("$@" 2>&1 >/dev/null) && return
	say "$text"
	say "$message"
	! grep -qE "$UNREACHABLE" <<<"$text" || exit $OFFLINE
	exit 1
}

# apt_sources: one line for each suite of BASE, and its backports.
apt_sources() {
	local key=/usr/share/keyrings/debian-archive-keyring.gpg opt='' code
	# shellcheck disable=SC1091
	code=$(. /etc/os-release && echo "$VERSION_CODENAME")
	[ ! -e $key ] || opt="[signed-by=$key] "
	# shellcheck disable=SC2016 # (apt's own variables)
	apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' \
		'Created-By: Packages' 'Component: main' | sort -u |
	awk -v opt="$opt" -v code="$code" -v base="$BASE" '
		$1 != "Debian" || index($2, code) != 1 { next }
		{ print "deb " opt $3, base substr($2, length(code) + 1), "main" }
		$2 == code { print "deb " opt $3, base "-backports", "main" }' |
	sort -u
}

# The sources of NAME: an architecture; "amd64-src" for the source packages of the
# backports; "amd64-sid" for the packages of the unstable suite alone
apt_sources_of() {
	case $1 in
	*-src)	apt_sources | sed -n '/-backports main$/s/^deb /deb-src /p' ;;
	*-sid)	apt_sources | awk '/-backports main$/ { $(NF - 1) = "sid"; print }' ;;
	*)	apt_sources ;;
	esac
}

apt_config() {
	local arch=${1%-*} dir=$CACHE/apt/$1
	mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/preferences"
	apt_sources_of "$1" >"$dir/sources.list"
	[ -s "$dir/sources.list" ] || die "apt of this machine names no Debian mirror"
	: >"$dir/status"
	cat >"$dir/conf" <<-END
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::State "$dir";
		Dir::State::status "$dir/status";
		Dir::Cache "$dir";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::Etc::preferences "-";
		Dir::Etc::preferencesparts "$dir/preferences";
	END
}

# apt_update ARCH: fetch the lists, once a process tree (or each day)
apt_update() {
	local dir=$CACHE/apt/$1
	if [ -n "$(find "$dir/updated" -mmin -720 2>/dev/null)" ]; then
		return
	fi
	apt_config "$1"
	say "reading the package lists of $1"
	# A mirror that cannot be reached is a warning in the other mode
	APT_CONFIG=$dir/conf apt_or_die "apt-get update for $1 failed" \
		apt-get -qq -o APT::Update::Error-Mode=any update
	touch "$dir/updated"
}

# apt_depends ARCH PACKAGE [SUITE]: the name of its first dependency
apt_depends() {
	with_lock "apt-$1" apt_update "$1"
	APT_CONFIG=$CACHE/apt/$1/conf apt-cache ${3:+-t "$3"} show \
		--no-all-versions "$2" |
		awk '/^Depends: / && !n++ { sub(",$", "", $2); print $2 }'
}

# download ARCH SUITE PACKAGE DIR: the package file, into DIR
download() {
	local arch=$1 suite=$2 package=$3 dir=$4
	apt_update "$arch"
	( cd "$dir" && APT_CONFIG=$CACHE/apt/$arch/conf apt_or_die "could not download $package" \
		apt-get -qq ${suite:+-t "$suite"} download "$package" )
}

# apt_unpack ARCH SUITE PACKAGE DIR TAR-ARGS...: unpack all or some of it
apt_unpack() {
	local dir=$4 new
	mkdir -p "$CACHE/apt"
	new=$(mktemp -d "$CACHE/apt/deb.XXXXXX")
	with_lock "apt-$1" download "$1" "$2" "$3" "$new"
	shift 4
	mkdir -p "$dir"
	dpkg-deb --fsys-tarfile "$new"/*.deb | tar -x -C "$dir" --wildcards "$@"
	rm -rf "$new"
}

# download_source PACKAGE DIR: the source of a package in the backports
download_source() {
	apt_update amd64-src
	( cd "$2" && APT_CONFIG=$CACHE/apt/amd64-src/conf apt_or_die "could not download the source of $1" \
		apt-get -qq source --download-only --tar-only "$1" )
}

# apt_source PACKAGE DIR FILE: one file out of the source, FILE as tar's pattern
apt_source() {
	local new
	new=$(mktemp -d "$CACHE/apt/source.XXXXXX")
	with_lock apt-amd64-src download_source "$1" "$new"
	mkdir -p "$2"
	tar -x -C "$2" --wildcards --no-anchored --transform 's,.*/,,' \
		-f "$new/$1"_*.orig.tar.* "$3"
	rm -rf "$new"
}
