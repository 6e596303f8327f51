#!/bin/bash
# Runs a program on ranks in two network namespaces, which reach each other by TCP over a pair of virtual devices alone.
#   namespaces.sh openmpi|mpich ranks program argument…      exit status 77: there are no rights for that
# The launcher is in the first namespace; an agent in place of ssh enters the second one.
library=$1 ranks=$2
shift 2
first=mwa$$ second=mwb$$ agent=$(mktemp)
trap 'ip netns del $first 2>/dev/null; ip netns del $second 2>/dev/null; rm -f "$agent"' EXIT

{ ip netns add $first && ip netns add $second &&
  ip link add between netns $first type veth peer name between netns $second &&
  ip -n $first addr add 10.77.0.1/24 dev between && ip -n $second addr add 10.77.0.2/24 dev between &&
  ip -n $first link set lo up && ip -n $second link set lo up &&
  ip -n $first link set between up && ip -n $second link set between up; } 2>/dev/null || exit 77

is_up() { ip -n $1 -br link show between | grep -q ' UP '; }
tries=1000 # the kernel notices a carrier after up to a second
until is_up $first && is_up $second || [ $((tries -= 1)) -eq 0 ]; do :; done

cat >"$agent" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec ip netns exec $second unshare --uts sh -c "hostname \$host; \$*"
END
chmod +x "$agent"

half=$(((ranks + 1) / 2))
hosts=10.77.0.1:$half,10.77.0.2:$half
case $library in
openmpi)
  for name in $(env | sed -n 's/^\(LUA_[A-Z0-9_]*\|MOONWARP_[A-Z0-9_]*\|XDG_CACHE_HOME\)=.*/\1/p'); do pass="$pass -x $name"; done
  ip netns exec $first mpirun.openmpi --allow-run-as-root -H $hosts -n "$ranks" --mca plm_rsh_agent "$agent" \
    --mca pml ob1 --mca btl self,tcp --mca osc pt2pt $pass "$@"
  ;;
mpich)
  UCX_TLS=self,tcp UCX_NET_DEVICES=between ip netns exec $first mpirun.mpich -launcher ssh -launcher-exec "$agent" -localhost 10.77.0.1 \
    -hosts $hosts -n "$ranks" "$@"
  ;;
esac
